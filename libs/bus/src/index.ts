/** NATS: connection, write-once facts, work queues, claim check, registry, leases. */
export { connectBus, type Bus, type BusOptions } from './connect.ts';
export { createDefinitions, type Definitions } from './definitions.ts';
export { publishDelta, subscribeDeltas } from './deltas.ts';
export { factSubject } from './fact-subject.ts';
export {
  followFacts,
  followRun,
  isInLog,
  readFacts,
  type Following,
  type FollowOptions,
  type ReceivedFact,
} from './follow.ts';
export { askToForget, serveForgetting } from './forgetting.ts';
export { connectKeys, type Keys } from './keys.ts';
export { setCopies } from './layout.ts';
export { holdLeases, type Leases } from './leases.ts';
export { decodeMessage, payloadOf, traceOf } from './message.ts';
export { publishFact, publishWork, type PublishOutcome } from './publish.ts';
export { readQueueLengths, type QueueLength } from './queue-lengths.ts';
export { pulledMax } from './read-in-order.ts';
export { connectRedactionRules, tellRedactionRules, type RedactionRulesOf } from './redaction-rules.ts';
export { connectRegistry, type Registry } from './registry.ts';
export { adoptResult, openResult, putResult, removeCallResults, removeResult, type StoredResult } from './results.ts';
export { removeFact } from './remove-fact.ts';
export { subscribeStops } from './stops.ts';
export { sweepResults } from './sweep-results.ts';
export { sweepBodies } from './sweep-bodies.ts';
export { connectToolChanges, tellToolChange, type ServerTool, type ToolChanges } from './tool-changes.ts';
export {
  consumeWork,
  ensureWorkQueue,
  type AppSource,
  type WorkContext,
  type WorkQueue,
  type WorkQueueOptions,
} from './work-queue.ts';
