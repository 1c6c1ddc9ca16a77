/** The work messages that decisions turn into. */
import type { ActedCall, ActWork, Definition, ThinkWork } from '@pawl/contracts';
import type { ModelCall } from './action.ts';
import { closingTimeMs, deadlineMs, guardsOf, outputRoom, outputTokens, spendLimitFor } from './limits.ts';
import { messagesOf, offeredToolsOf } from './prompt.ts';
import { limitsOf, type RunState } from './state.ts';
import { dataClassesOf } from './taint.ts';
import { promptTokensOf } from './tokens.ts';

const observationCharsDefault = 2_000;

/** The work of a model call. Only thoughts get tools; a closing call gets what was kept back of every limit. */
export function thinkWorkOf(
  state: RunState,
  of: { definition: Definition; call: ModelCall; nowMs: number },
): ThinkWork {
  const { definition, call, nowMs } = of;
  const { started } = state;
  const { spec } = definition.agent.object;
  const isClosing = call.purpose === 'conclude' && call.closing !== 'final_answer';
  const reserve = isClosing ? 'conclude' : 'loop';
  const full = outputRoom(state, reserve, promptTokensOf(state, definition));
  const isTrimmed = isClosing && full < outputTokens.min;
  const dataClasses = dataClassesOf(state, definition);
  const room = isTrimmed ? outputRoom(state, reserve, promptTokensOf(state, definition, { isTrimmed })) : full;
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
    lane: started.lane,
    route: spec.models[call.purpose] ?? spec.models.think,
    messages: messagesOf(state, definition, { call, isTrimmed }),
    tools: call.purpose === 'think' ? offeredToolsOf(state, definition, call.m) : [],
    maxOutputTokens: Math.max(1, Math.min(room, outputMax(call.purpose, spec))),
    runSpendLimitNanoUsd: spendLimitFor(limitsOf(state), reserve).toString(),
    ...(started.ancestors ? { ancestors: started.ancestors } : {}),
    ...(dataClasses.length > 0 ? { dataClasses } : {}),
    ...(spec.thoughts === 'hidden' ? { areThoughtsHidden: true } : {}),
    ...(spec.answer && call.purpose === 'conclude' ? { answerSchema: spec.answer.schema } : {}),
    deadlineAt: new Date(isClosing ? deadlineMs(state, nowMs) : closingTimeMs(state, nowMs)).toISOString(),
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
    maxChars: definition.agent.object.spec.observation?.maxChars ?? observationCharsDefault,
    ...(started.user ? { user: started.user } : {}),
    deadlineAt: new Date(closingTimeMs(state, nowMs)).toISOString(),
  };
}
