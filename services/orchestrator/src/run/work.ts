/** The work messages that decisions turn into. */
import type { ActedCall, ActWork, Definition, ThinkWork } from '@pawl/contracts';
import type { ModelCall } from './action.ts';
import { closingPromptOf, reserveOf, tokensLeft } from './closing.ts';
import {
  closingTimeMs,
  deadlineMs,
  guardsOf,
  observationCharsOf,
  outputRoom,
  outputTokens,
  spendLimitOfLoop,
} from './limits.ts';
import { messagesOf, offeredToolsOf } from './prompt.ts';
import { limitsOf, type RunState } from './state.ts';
import { dataClassesOf } from './taint.ts';
import { promptTokensOf } from './tokens.ts';

/** The work of a model call. Only thoughts get tools; a closing call gets what was kept back of every limit. Throws where there is no room for it. */
export function thinkWorkOf(
  state: RunState,
  of: { definition: Definition; call: ModelCall; nowMs: number },
): ThinkWork {
  const { definition, call, nowMs } = of;
  const { started } = state;
  const { spec } = definition.agent.object;
  const isClosing = call.purpose === 'conclude' && call.closing !== 'final_answer';
  const dataClasses = dataClassesOf(state, definition);
  return {
    v: 1,
    kind: 'think',
    runId: started.runId,
    app: started.app,
    m: call.m,
    agent: started.agent.name,
    purpose: call.purpose,
    ...(call.closing ? { closing: call.closing } : {}),
    signalsSeen: state.signals.length,
    ...(started.user ? { user: started.user } : {}),
    ...(started.keyId === undefined ? {} : { keyId: started.keyId }),
    lane: started.lane,
    route: spec.models[call.purpose] ?? spec.models.think,
    tools: call.purpose === 'think' ? offeredToolsOf(state, definition, call.m) : [],
    ...(isClosing ? closingPart(state, definition, call) : loopPart(state, definition, call)),
    ...(started.ancestors ? { ancestors: started.ancestors } : {}),
    ...(dataClasses.length > 0 ? { dataClasses } : {}),
    ...(spec.thoughts === 'hidden' ? { areThoughtsHidden: true } : {}),
    ...(spec.answer && call.purpose === 'conclude' ? { answerSchema: spec.answer.schema } : {}),
    deadlineAt: new Date(isClosing ? deadlineMs(state, nowMs) : closingTimeMs(state, nowMs)).toISOString(),
  };
}

type Part = Pick<
  ThinkWork,
  'messages' | 'maxOutputTokens' | 'minOutputTokens' | 'isOutputShort' | 'runSpendLimitNanoUsd' | 'reserve'
>;

/** A call of the loop: it leaves room for the closing call. */
function loopPart(state: RunState, definition: Definition, call: ModelCall): Part {
  const room = outputRoom(state, promptTokensOf(state, definition));
  const wanted = outputMax(call.purpose, definition.agent.object.spec);
  return {
    messages: messagesOf(state, definition, { call }),
    maxOutputTokens: Math.max(1, Math.min(room, wanted)),
    ...(room < wanted ? { isOutputShort: true } : {}),
    runSpendLimitNanoUsd: spendLimitOfLoop(limitsOf(state)).toString(),
    reserve: reserveOf(state, definition),
  };
}

/** The closing call: it takes what is left. */
function closingPart(state: RunState, definition: Definition, call: ModelCall): Part {
  const prompt = closingPromptOf(state, definition, call);
  if (!prompt) throw new TypeError('a closing call is only made where there is room for it');
  const maxOutputTokens = Math.min(tokensLeft(state) - prompt.promptTokens, outputTokens.closing);
  return {
    messages: prompt.messages,
    maxOutputTokens,
    minOutputTokens: Math.min(maxOutputTokens, outputTokens.closingMin),
    runSpendLimitNanoUsd: limitsOf(state).spendNanoUsd,
  };
}

function outputMax(purpose: ModelCall['purpose'], spec: Definition['agent']['object']['spec']): number {
  if (purpose === 'summarize') return guardsOf(spec).compressionTokens * 2;
  return purpose === 'conclude' || purpose === 'reflect' ? outputTokens.closing : outputTokens.max;
}

/** The work of one call of thought m, with the arguments that it is executed with. */
export function actWorkOf(
  state: RunState,
  of: {
    definition: Definition;
    call: { m: number; step: number; call: ActedCall; args: string; argsHash: string };
    nowMs: number;
  },
): ActWork {
  const { started } = state;
  const { definition, nowMs } = of;
  const { m, step, call, args, argsHash } = of.call;
  const tool = definition.tools.find(({ object }) => object.metadata.name === call.tool);
  if (!tool) throw new TypeError('only an admitted call becomes work');
  return {
    v: 1,
    kind: 'act',
    runId: started.runId,
    app: started.app,
    m,
    i: call.i,
    step,
    callId: call.callId,
    pool: tool.object.spec.pool ?? 'default',
    tool: call.tool,
    toolRevision: tool.revision,
    definition: started.definition,
    args,
    argsHash,
    maxChars: observationCharsOf(definition.agent.object.spec),
    ...(started.user ? { user: started.user } : {}),
    deadlineAt: new Date(closingTimeMs(state, nowMs)).toISOString(),
  };
}
