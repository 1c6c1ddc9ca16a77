/**
 * What a model gets to see: a pure function of the facts. The conversation only grows at its end, so that providers'
 * prompt caches hit; only a summary, which replaces what it covers, begins it anew. Every call in it is answered right
 * behind the thought that made it (I2), and observations are data in a labelled envelope (I12).
 */
import type { ActedCall, AgentSpec, ChatMessage, Definition, OfferedTool } from '@pawl/contracts';
import type { ModelCall } from './action.ts';
import { toolsOf } from './admit.ts';
import { answerMistake } from './answer.ts';
import { clip, resultOf, sendableName, type About } from './envelope.ts';
import { circlingBefore, hasFailedBefore } from './guards.ts';
import { guardsOf } from './limits.ts';
import { planOf, renderPlan } from './plan.ts';
import { replyOf } from './reply.ts';
import { limitsOf, type RunState, type Turn } from './state.ts';
import { stopDetail } from './stop-detail.ts';
import { isSummary } from './totals.ts';
import { fillIn, wordsOf } from './words/words.ts';

/** Items that a plan may have. */
const planItemsMax = '7';
/** Characters of the reason that a closing call is told. */
const reasonCharsMax = 500;

/** How much of a conversation is kept: characters of each item, and items from its end. */
export type Shortening = { charsMax: number; itemsMax: number };

/** The messages of a run's next model call. */
export function messagesOf(state: RunState, definition: Definition, { call }: { call: ModelCall }): ChatMessage[] {
  const about = { state, definition, spec: definition.agent.object.spec, charsMax: Infinity };
  return [...beginning(about), ...conversationOf(about), ...requestsBefore(about, call)];
}

/**
 * The messages of a closing call that has no room for all: instructions and question as they are, the work as a list of short
 * items. Results stay in their labelled envelopes.
 */
export function shortMessagesOf(
  state: RunState,
  definition: Definition,
  { call, to }: { call: ModelCall; to: Shortening },
): ChatMessage[] {
  const about = { state, definition, spec: definition.agent.object.spec, charsMax: to.charsMax };
  const items = to.itemsMax === 0 ? [] : [...historyOf(state), ...conversationOf(about)].flatMap(itemsOf(to.charsMax));
  const work = items.slice(-to.itemsMax).join('\n');
  return [
    { role: 'system', content: [about.spec.instructions, ...answerFormatOf(about.spec)].join('\n\n') },
    { role: 'user', content: questionOf(about) },
    ...(work === '' ? [] : [{ role: 'user' as const, content: `${wordsOf(about.spec).shortened}\n${work}` }]),
    ...requestsBefore(about, call),
  ];
}

function itemsOf(charsMax: number): (message: ChatMessage) => string[] {
  return (message) => {
    if (message.role === 'tool') return [`Observation: ${message.content}`];
    const text = message.content ? [clip(message.content, charsMax)] : [];
    if (message.role !== 'assistant') return text;
    const calls = message.tool_calls ?? [];
    return [...text, ...calls.map(({ function: of }) => `Action: ${of.name} ${clip(of.arguments, charsMax)}`)];
  };
}

/** What was said and observed since the question, or since the newest summary. */
function conversationOf(about: About): ChatMessage[] {
  const { state } = about;
  const summary = state.turns.findLastIndex(isSummary);
  const messages = summaryOf(about, summary);
  let seen = signalsSeenBy(state, summary);
  for (const turn of state.turns.slice(summary + 1)) {
    if (!turn.thought || turn.thought.outcome === 'failed' || turn.thought.purpose === 'summarize') continue;
    messages.push(...signalMessages(about, seen, turn.thought.signalsSeen ?? seen));
    seen = Math.max(seen, turn.thought.signalsSeen ?? 0);
    messages.push(...requestsBefore(about, { m: turn.m, ...callOf(turn) }), ...messagesOfTurn(about, turn));
  }
  return [...messages, ...signalMessages(about, seen, state.signals.length)];
}

/** The tools that the model is offered before thought m: only those that the run's user may use, in its stage. */
export function offeredToolsOf(state: RunState, definition: Definition, m: number): OfferedTool[] {
  if (definition.agent.object.spec.toolCalling === 'text') return [];
  return describeTools(state, definition, m);
}

function describeTools(state: RunState, definition: Definition, m: number): OfferedTool[] {
  if (limitsOf(state).toolCalls === 0) return [];
  return toolsOf(state, definition, m).map(({ object }) => ({
    name: object.metadata.name,
    description: object.spec.description,
    parameters: object.spec.parameters ?? { type: 'object', properties: {} },
  }));
}

function beginning(about: About): ChatMessage[] {
  const { state, definition, spec } = about;
  const words = wordsOf(spec);
  const parts = [
    spec.instructions,
    spec.thoughts === 'brief' || spec.thoughts === 'hidden' ? words.brief : words.guided,
  ];
  if (spec.observation?.analysis) parts.push(words.observationAnalysis);
  if (spec.toolCalling === 'text') {
    const tools = describeTools(state, definition, state.turns.length).map((tool) => JSON.stringify(tool));
    parts.push(fillIn(words.textProtocol, { tools: tools.join('\n') }));
  }
  parts.push(...answerFormatOf(spec));
  return [
    { role: 'system', content: parts.join('\n\n') },
    ...historyOf(state),
    { role: 'user', content: questionOf(about) },
  ];
}

function answerFormatOf(spec: AgentSpec): string[] {
  return spec.answer ? [fillIn(wordsOf(spec).answerFormat, { schema: JSON.stringify(spec.answer.schema) })] : [];
}

/** Earlier questions of the session with their answers. */
function historyOf({ started }: RunState): ChatMessage[] {
  return (started.history ?? []).flatMap(({ input, answer }): ChatMessage[] => [
    { role: 'user', content: input },
    { role: 'assistant', content: answer },
  ]);
}

function questionOf({ state, spec }: About): string {
  const { input, environment } = state.started;
  if (!environment || Object.keys(environment).length === 0) return input;
  return `${input}\n\n${wordsOf(spec).environment}\n${JSON.stringify(environment)}`;
}

/** The newest summary, which stands for everything before it but the signals. */
function summaryOf(about: About, index: number): ChatMessage[] {
  const text = about.state.turns[index]?.thought?.text;
  if (text === undefined) return [];
  return [
    { role: 'user', content: `${wordsOf(about.spec).summary}\n${text}` },
    ...signalMessages(about, 0, signalsSeenBy(about.state, index)),
  ];
}

function signalsSeenBy(state: RunState, index: number): number {
  return Math.max(0, ...state.turns.slice(0, index + 1).map(({ thought }) => thought?.signalsSeen ?? 0));
}

/** Signals from one count to another, in their order; answers to `ask_user` are told as its result instead. */
function signalMessages({ state, spec }: About, from: number, to: number): ChatMessage[] {
  return state.signals.slice(from, to).flatMap(({ signal, answers }): ChatMessage[] => {
    if (answers) return [];
    const data = signal.data === undefined ? '' : `${wordsOf(spec).newInput}\n${signal.data}`;
    return [{ role: 'user', content: [signal.text, data].filter(Boolean).join('\n\n') }];
  });
}

function callOf(turn: Turn): Pick<ModelCall, 'purpose' | 'closing'> {
  const { purpose = 'think', closing } = turn.thought ?? {};
  return closing ? { purpose, closing } : { purpose };
}

/** What the loop itself says right before a model call. */
function requestsBefore({ state, spec }: About, call: ModelCall): ChatMessage[] {
  const words = wordsOf(spec);
  const ask = (content: string): ChatMessage[] => [{ role: 'user', content }];
  switch (call.purpose) {
    case 'reflect':
      return ask(words.reflection);
    case 'summarize':
      return ask(fillIn(words.compression, { tokens: String(guardsOf(spec).compressionTokens) }));
    case 'conclude': {
      const isOrderly = call.closing === undefined || call.closing === 'final_answer';
      const repair = isOrderly ? repairBefore(state, spec, call.m) : [];
      if (repair.length > 0) return repair;
      const why = isOrderly ? '' : clip(stopDetail(state, call.closing ?? 'final_answer'), reasonCharsMax);
      return ask(fillIn(words.closing, { why }).trim());
    }
    case 'plan':
      return ask(planOf(state, call.m) ? words.replan : fillIn(words.plan, { items: planItemsMax }));
    case 'think':
      return [
        ...repairBefore(state, spec, call.m),
        ...interventionBefore(state, spec, call.m),
        ...planBefore(state, spec, call.m),
      ];
  }
}

function repairBefore(state: RunState, spec: AgentSpec, m: number): ChatMessage[] {
  const thought = state.turns[m - 1]?.thought;
  const mayAnswer = thought?.purpose === 'think' || thought?.purpose === 'conclude';
  if (!spec.answer || !mayAnswer || thought.outcome !== 'reply') return [];
  const { text, calls } = replyOf(thought, spec);
  const mistake = calls.length === 0 ? answerMistake(spec, text) : undefined;
  if (!mistake) return [];
  const schema = JSON.stringify(spec.answer.schema);
  return [{ role: 'user', content: fillIn(wordsOf(spec).repair, { mistake, schema }) }];
}

/** A word about circling, or else about a step of which nothing worked. */
function interventionBefore(state: RunState, spec: AgentSpec, m: number): ChatMessage[] {
  const words = wordsOf(spec);
  if (circlingBefore(state, spec, m) === 'intervene') return [{ role: 'user', content: words.intervention }];
  const isAfterStep = state.turns[m - 1]?.thought?.purpose === 'think';
  return isAfterStep && hasFailedBefore(state, m) ? [{ role: 'user', content: words.recovery }] : [];
}

function planBefore(state: RunState, spec: AgentSpec, m: number): ChatMessage[] {
  const plan = spec.strategy === 'plan-execute' ? planOf(state, m) : undefined;
  const next = plan?.items.find(({ isDone }) => !isDone);
  return plan && next ? [{ role: 'user', content: `${renderPlan(plan)}\n→ ${next.text}` }] : [];
}

function messagesOfTurn(about: About, turn: Turn): ChatMessage[] {
  const { thought, acted } = turn;
  if (!thought) return [];
  if (!acted) return [{ role: 'assistant', content: thought.text }];
  const results = acted.calls.map((call) => ({ call, content: resultOf(about, turn, call.i) }));
  if (about.spec.toolCalling === 'text') {
    return [
      { role: 'assistant', content: thought.text },
      ...results.map(({ content }): ChatMessage => ({ role: 'user', content: `Observation: ${content}` })),
    ];
  }
  return [
    {
      role: 'assistant',
      content: thought.text === '' ? null : thought.text,
      tool_calls: acted.calls.map((call) => ({
        id: call.callId,
        type: 'function',
        function: { name: sendableName(call.tool), arguments: sendableArguments(call) },
      })),
    },
    ...results.map(({ call, content }): ChatMessage => ({ role: 'tool', tool_call_id: call.callId, content })),
  ];
}

/** Arguments that are no JSON object are told as an empty one, which every provider takes back; the observation says what was wrong. */
function sendableArguments({ args, argsHash }: ActedCall): string {
  return argsHash === undefined ? '{}' : args;
}
