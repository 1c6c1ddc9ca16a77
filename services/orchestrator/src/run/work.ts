/** The work messages that decisions turn into. */
import type { ActedCall, ActWork, Definition, StopReason, ThinkWork } from '@pawl/contracts';
import { closingTimeMs, outputRoom, outputTokens, spendLimitFor } from './limits.ts';
import { messagesOf, offeredToolsOf, promptTokensOf } from './prompt.ts';
import type { RunState } from './state.ts';

const observationCharsDefault = 2_000;

/** The work of a model call. A closing call gets no tools and what was kept back of every limit. */
export function thinkWorkOf(
  state: RunState,
  definition: Definition,
  call: { m: number; purpose: 'think' | 'conclude'; closing?: StopReason },
): ThinkWork {
  const { started } = state;
  const { models } = definition.agent.object.spec;
  const isClosing = call.purpose === 'conclude';
  const purpose = isClosing ? 'conclude' : 'loop';
  const room = outputRoom(state, purpose, promptTokensOf(state, definition));
  return {
    v: 1,
    kind: 'think',
    runId: started.runId,
    app: started.app,
    m: call.m,
    agent: started.agent.name,
    purpose: call.purpose,
    ...(call.closing ? { closing: call.closing } : {}),
    ...(started.user ? { user: started.user } : {}),
    lane: started.lane,
    route: (isClosing ? models.conclude : undefined) ?? models.think,
    messages: messagesOf(state, definition, call.closing),
    tools: isClosing ? [] : offeredToolsOf(state, definition),
    maxOutputTokens: Math.max(1, isClosing ? Math.min(room, outputTokens.closing) : room),
    runSpendLimitNanoUsd: spendLimitFor(started.limits, purpose).toString(),
    deadlineAt: isClosing ? started.deadlineAt : new Date(closingTimeMs(state)).toISOString(),
  };
}

/** The work of one call of thought m. */
export function actWorkOf(
  state: RunState,
  definition: Definition,
  asked: { m: number; step: number; call: ActedCall },
): ActWork {
  const { started } = state;
  const { call } = asked;
  const tool = definition.tools.find(({ object }) => object.metadata.name === call.tool);
  if (!call.argsHash || !tool) throw new TypeError('only an admitted call becomes work');
  return {
    v: 1,
    kind: 'act',
    runId: started.runId,
    app: started.app,
    m: asked.m,
    i: call.i,
    step: asked.step,
    callId: call.callId,
    pool: tool.object.spec.pool ?? 'default',
    tool: call.tool,
    toolRevision: tool.revision,
    definition: started.definition,
    args: call.args,
    argsHash: call.argsHash,
    maxChars: definition.agent.object.spec.observation?.maxChars ?? observationCharsDefault,
    ...(started.user ? { user: started.user } : {}),
    deadlineAt: new Date(closingTimeMs(state)).toISOString(),
  };
}
