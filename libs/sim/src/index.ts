/**
 * A scripted stand-in for a language model that speaks OpenAI's chat-completions protocol. For demos without a key and
 * for tests; it follows rules and understands nothing.
 */
export { createSim, type Sim, type SimOptions } from './create-sim.ts';
export { conversation, type Conversation } from './conversation/conversation.ts';
export type { SimObservation } from './conversation/observation.ts';
export {
  type SimCall,
  type SimFailure,
  type SimModel,
  type SimReply,
  type SimSource,
  SimRuleError,
} from './completion/reply.ts';
export type { SimUsage } from './completion/completion.ts';
export type { SimRequest } from './meter.ts';
export { loadScript, loadScripts } from './script/load-script.ts';
export { parseScript, ScriptError, type ScriptModel } from './script/script.ts';
