/**
 * Whether a call that the model asked for may be made. What may not is answered at once with an observation that says
 * what would be allowed; nothing is ever dropped (I2). The order of the questions: does the tool exist for this user, in
 * this stage; are the arguments JSON; was the same read made before; are calls left; may it write; who has to approve it.
 */
import { boundsProblem } from '@pawl/calls';
import {
  failedObservation,
  fingerprintJson,
  durationMs,
  type ActedCall,
  type AgentSpec,
  type Definition,
  type Observation,
  type RunUser,
  type Tool,
  type ToolCall,
} from '@pawl/contracts';
import { answerMistake } from './answer.ts';
import { approvalExpiresAfterMs } from './limits.ts';
import type { PinnedTool } from './pin.ts';
import { protocolBreach } from './reply.ts';
import { holds } from './rules.ts';
import { stageOf } from './stages.ts';
import type { RunState } from './state.ts';
import { isTainted } from './taint.ts';

/** `answer` is there where the orchestrator itself answers the call. */
export type Admission = { call: ActedCall; answer?: Observation };

export type AdmissionFrom = {
  m: number;
  definition: Definition;
  callsLeft: number;
  /** Closing calls get no tools. */
  isClosing: boolean;
  nowMs: number;
};

/** The agent's tools that a user may use: those without roles, and those that name a role of the user's. */
export function allowedTools({ agent, tools }: Definition, user: RunUser | undefined): PinnedTool[] {
  const named = new Set(agent.object.spec.tools);
  return tools.filter(({ object }) => named.has(object.metadata.name) && mayUse(object, user));
}

/** Tools that a run may use before its thought m: allowed for its user, and in its stage. */
export function toolsOf(state: RunState, definition: Definition, m: number): PinnedTool[] {
  const stage = stageOf(state, definition.agent.object.spec, m);
  const allowed = allowedTools(definition, state.started.user);
  return stage ? allowed.filter(({ object }) => stage.tools.includes(object.metadata.name)) : allowed;
}

/** Judges the calls of one thought, in order. */
export function admitCalls(state: RunState, calls: ToolCall[], from: AdmissionFrom): Admission[] {
  const about = {
    ...from,
    tools: toolsOf(state, from.definition, from.m),
    user: state.started.user,
    spec: from.definition.agent.object.spec,
    isAnswered: calls.some(({ tool }) => builtinOf(from.definition, tool) === 'direct_answer'),
  };
  let left = from.callsLeft;
  const judged: Admission[] = [];
  for (const [i, asked] of calls.entries()) {
    const admission = admitCall(state, asked, { ...about, i, left, judged });
    if (admission.call.admission !== 'answered') left -= 1;
    judged.push(admission);
  }
  return judged;
}

type About = AdmissionFrom & {
  tools: PinnedTool[];
  user: RunUser | undefined;
  spec: AgentSpec;
  isAnswered: boolean;
  i: number;
  left: number;
  judged: Admission[];
};

function admitCall(state: RunState, asked: ToolCall, about: About): Admission {
  const tool = about.tools.find(({ object }) => object.metadata.name === asked.tool);
  const args = asked.args.trim() === '' ? '{}' : asked.args;
  const excess = boundsProblem(args);
  const parsed = excess === undefined ? parseObject(args) : {};
  const call = {
    i: about.i,
    callId: `call_${about.m}_${about.i}`,
    tool: asked.tool,
    args,
    ...(tool ? { toolRevision: tool.revision } : {}),
    ...(parsed.value ? { argsHash: fingerprintJson(args) } : {}),
  };
  const refusal = refuse(asked, tool, { ...about, mistake: parsed.mistake, excess });
  if (refusal || !tool || !parsed.value) return answered(call, refusal ?? tooLate);
  const { builtin } = tool.object.spec;
  if (builtin?.name === 'direct_answer') return answered(call, directAnswerTo(about.spec, args));
  if (about.isAnswered) return answered(call, besideAnswer);
  const duplicate =
    isRead(tool.object) && builtin?.name !== 'current_time' ? earlierResult(state, call, about) : undefined;
  if (duplicate) return answered(call, duplicate);
  if (about.left <= 0) return answered(call, noCallsLeft);
  if (!isRead(tool.object) && state.started.areWritesBlocked) return answered(call, writesBlocked);
  if (builtin?.name === 'ask_user') return { call: { ...call, admission: 'input', why: questionIn(parsed.value) } };
  const approval = approvalFor(state, tool.object, { args: parsed.value, about });
  if (approval) return { call: { ...call, admission: 'approval', ...approval } };
  return { call: { ...call, admission: tool.object.spec.agent ? 'subrun' : 'run' } };
}

function answered(call: Omit<ActedCall, 'admission'>, answer: Observation): Admission {
  return { call: { ...call, admission: 'answered' }, answer };
}

function refuse(
  asked: ToolCall,
  tool: PinnedTool | undefined,
  about: About & { mistake: string | undefined; excess: string | undefined },
): Observation | undefined {
  if (about.isClosing) return tooLate;
  if (asked.tool === protocolBreach) return outsideProtocol;
  if (!tool) return unknownTool(asked.tool, about);
  if (about.excess !== undefined)
    return failedObservation('error', { code: 'invalid_arguments', message: about.excess });
  if (!about.mistake) return undefined;
  return failedObservation('error', {
    code: 'invalid_arguments_json',
    message: `The arguments of ${asked.tool} (call ${about.i + 1}) are not valid JSON: ${about.mistake}`,
    suggestion: 'Send the arguments again as one complete JSON object.',
  });
}

function unknownTool(name: string, about: About): Observation {
  const names = about.tools.map(({ object }) => object.metadata.name).join(', ');
  const isOfAgent = allowedTools(about.definition, about.user).some(({ object }) => object.metadata.name === name);
  return failedObservation('denied', {
    code: isOfAgent ? 'tool_not_allowed' : 'unknown_tool',
    message: isOfAgent
      ? `The tool ${name} may not be used here and now.`
      : `There is no tool ${JSON.stringify(name.slice(0, 100))} that you may use.`,
    suggestion: names === '' ? 'Answer without a tool.' : `Use one of: ${names}.`,
  });
}

/** The result of the same read, made before in this run or earlier in this very thought. */
function earlierResult(state: RunState, call: Omit<ActedCall, 'admission'>, about: About): Observation | undefined {
  const isSame = (other: ActedCall) => other.tool === call.tool && other.argsHash === call.argsHash;
  for (const turn of state.turns.slice(0, about.m).toReversed()) {
    const earlier = turn.acted?.calls.find(
      (other) => isSame(other) && turn.observed[other.i]?.observation.status === 'ok',
    );
    const observation = earlier && turn.observed[earlier.i]?.observation;
    if (observation) {
      return {
        ...observation,
        status: 'duplicate',
        errorCode: 'duplicate_call',
        message: 'You have already called this in this run. The result was the one given here.',
        suggestion: 'Use the result, or change the arguments.',
      };
    }
  }
  const twin = about.judged.find(({ call: other }) => other.admission !== 'answered' && isSame(other));
  return twin
    ? failedObservation('duplicate', {
        code: 'duplicate_call',
        message: `The same call stands in this very step as ${twin.call.callId}. Its result holds for both.`,
      })
    : undefined;
}

function approvalFor(
  state: RunState,
  tool: Tool,
  from: { args: Record<string, unknown>; about: About },
): { why: string; expiresAt: string } | undefined {
  const { spec, m, nowMs } = from.about;
  const rule = spec.approvals?.find(
    (candidate) =>
      candidate.tool === tool.metadata.name &&
      (candidate.when === undefined || holds(candidate.when, { args: from.args }, true)),
  );
  const isWriteAfterTaint = spec.policies?.approveWritesWhenTainted && !isRead(tool) && isTainted(state, m);
  if (!rule && !isWriteAfterTaint) return undefined;
  const why = rule
    ? `${tool.metadata.name} needs approval${rule.when === undefined ? '' : ` when ${rule.when}`}`
    : 'the run has read untrusted data, and writes need approval from then on';
  const afterMs = rule?.expiresIn ? durationMs(rule.expiresIn) : approvalExpiresAfterMs;
  return { why, expiresAt: new Date(nowMs + afterMs).toISOString() };
}

const tooLate = failedObservation('denied', {
  code: 'tool_not_allowed',
  message: 'The run is being closed: tools are no longer available.',
});
const outsideProtocol = failedObservation('error', {
  code: 'invalid_request',
  message: 'The reply has neither an Action in JSON nor a Final Answer.',
  suggestion: 'Reply with one "Action: {"tool": "name", "args": {…}}", or with "Final Answer: …".',
});
const noCallsLeft = failedObservation('denied', {
  code: 'too_many_tool_calls',
  message: 'This run has no tool calls left.',
  suggestion: 'Answer with what you know.',
});
const writesBlocked = failedObservation('denied', {
  code: 'tool_not_allowed',
  message: 'This run is a fork in which writes are blocked.',
  suggestion: 'Go on without it and say what you would have done.',
});
const besideAnswer = failedObservation('denied', {
  code: 'tool_not_allowed',
  message: 'The same reply gave the final answer, so this was not done.',
});
function directAnswerTo(spec: AgentSpec, args: string): Observation {
  const mistake = answerMistake(spec, textArgument(args, 'answer'));
  if (!mistake) return directAnswer;
  const suggestion = `Give the whole answer again, as JSON that fits this schema: ${JSON.stringify(spec.answer?.schema)}`;
  return failedObservation('error', { code: 'invalid_arguments', message: mistake, suggestion });
}

const directAnswer: Observation = {
  status: 'ok',
  data: '{"answered":true}',
  errorCode: null,
  message: null,
  suggestion: null,
  truncated: false,
  ref: null,
};

/** The built-in that a tool's name stands for, if it is one. */
export function builtinOf(definition: Definition, name: string): string | undefined {
  return definition.tools.find(({ object }) => object.metadata.name === name)?.object.spec.builtin?.name;
}

/** A text member of a call's arguments, or an empty text. */
export function textArgument(args: string, name: string): string {
  const { value } = parseObject(args);
  const text = value?.[name];
  return typeof text === 'string' ? text : '';
}

function questionIn(args: Record<string, unknown>): string {
  return typeof args['question'] === 'string' ? args['question'] : 'The agent asks for more information.';
}

function isRead(tool: Tool): boolean {
  return (tool.spec.effect ?? 'read') === 'read' && !tool.spec.agent && tool.spec.builtin?.name !== 'ask_user';
}

function mayUse(tool: Tool, user: RunUser | undefined): boolean {
  const { roles } = tool.spec;
  return !roles || roles.some((role) => user?.roles?.includes(role));
}

/** The text as a JSON object, or what is wrong with it. Never quotes the text itself. */
function parseObject(text: string): { value?: Record<string, unknown>; mistake?: string } {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { value: value as Record<string, unknown> } : { mistake: 'an object was expected' };
  } catch (error) {
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    return { mistake: position ? `it breaks off or goes wrong at character ${position}` : 'it ends too early' };
  }
}
