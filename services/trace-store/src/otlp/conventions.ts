/**
 * What a span says, whatever its dialect: the GenAI conventions of OpenTelemetry, new and old, OpenInference, OpenLLMetry.
 * Pure. Names are in otel's registries; the newest is looked for first.
 */
import { holdsMessages, messagesOf, plainInputNames, plainOutputNames } from './messages.ts';
import type { Attributes, AttributeValue, OtlpSpan } from './span.ts';

export type SpanKind = 'agent' | 'thought' | 'call' | 'other';

/** Attributes that say what a span stands for, each in words of its own. */
const kindNames = [
  'gen_ai.operation.name',
  'openinference.span.kind',
  'traceloop.span.kind',
  'llm.request.type',
  'gen_ai.span.kind',
];
const kindsOfWords: Readonly<Record<string, SpanKind>> = {
  chat: 'thought',
  text_completion: 'thought',
  generate_content: 'thought',
  completion: 'thought',
  llm: 'thought',
  execute_tool: 'call',
  tool: 'call',
  agent: 'agent',
  workflow: 'agent',
  invoke_agent: 'agent',
  invoke_workflow: 'agent',
};
const callNames = ['gen_ai.tool.name', 'ai.toolCall.name'];
const modelNames = ['gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name', 'llm.request.model'];

/** What a span stands for. Where two dialects are spoken at once, the first that has a word for it counts. */
export function kindOf({ attributes, name }: Pick<OtlpSpan, 'attributes' | 'name'>): SpanKind {
  const words = kindNames.flatMap((said) => textIn(attributes, said)?.toLowerCase() ?? []);
  const known = words.find((word) => Object.hasOwn(kindsOfWords, word));
  if (known !== undefined) return kindsOfWords[known] ?? 'other';
  if (words.some((word) => word !== 'unknown')) return 'other';
  if (attributes['mcp.method.name'] === 'tools/call' || callNames.some((said) => said in attributes)) return 'call';
  if (modelNames.some((said) => said in attributes)) return 'thought';
  return /^invoke_agent\b/.test(name) ? 'agent' : 'other';
}

export type SpanUsage = {
  inputTokens: number | null;
  outputTokens: number | null;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  /** Whole nano-USD as digits. */
  costNanoUsd: string | null;
};

export function usageOf({ attributes }: OtlpSpan): SpanUsage {
  const count = (...names: string[]) => countIn(attributes, ...names);
  return {
    inputTokens: count(
      'gen_ai.usage.input_tokens',
      'gen_ai.usage.prompt_tokens',
      'llm.token_count.prompt',
      'llm.usage.prompt_tokens',
      'ai.usage.inputTokens',
      'ai.usage.promptTokens',
    ),
    outputTokens: count(
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'llm.token_count.completion',
      'llm.usage.completion_tokens',
      'ai.usage.outputTokens',
      'ai.usage.completionTokens',
    ),
    cachedInputTokens:
      count(
        'gen_ai.usage.cache_read.input_tokens',
        'gen_ai.usage.cache_read_input_tokens',
        'llm.token_count.prompt_details.cache_read',
      ) ?? 0,
    cacheWriteTokens:
      count(
        'gen_ai.usage.cache_write.input_tokens',
        'gen_ai.usage.cache_creation.input_tokens',
        'gen_ai.usage.cache_creation_input_tokens',
        'llm.token_count.prompt_details.cache_write',
      ) ?? 0,
    reasoningTokens:
      count(
        'gen_ai.usage.reasoning.output_tokens',
        'gen_ai.usage.reasoning_tokens',
        'llm.token_count.completion_details.reasoning',
      ) ?? 0,
    costNanoUsd: costOf(attributes),
  };
}

function costOf(attributes: Attributes): string | null {
  const nano = textIn(attributes, 'pawl.cost.nano_usd');
  if (nano !== undefined && /^\d{1,30}$/.test(nano)) return nano;
  const usd = Number(attributes['gen_ai.usage.cost'] ?? attributes['llm.cost.total'] ?? Number.NaN);
  return usd >= 0 && usd < 1e9 ? BigInt(Math.round(usd * 1e9)).toString() : null;
}

export function modelOf({ attributes }: OtlpSpan): string | undefined {
  return textIn(attributes, ...modelNames);
}

export function providerOf({ attributes }: OtlpSpan): string | undefined {
  return textIn(attributes, 'gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system', 'llm.vendor');
}

/** Why the model stopped; of several choices, of each. */
export function finishReasonOf({ attributes }: OtlpSpan): string | undefined {
  const reasons = attributes['gen_ai.response.finish_reasons'];
  if (Array.isArray(reasons)) return reasons.filter((reason) => typeof reason === 'string').join(', ');
  return textIn(attributes, 'gen_ai.response.finish_reasons', 'llm.finish_reason', 'ai.response.finishReason');
}

export type SpanCall = { tool: string; callId: string | null; args: string; result: string | null };

/** What a span of a tool call says. */
export function callOf({ attributes, name }: OtlpSpan): SpanCall {
  const named = textIn(attributes, ...callNames, 'tool.name', 'tool_call.function.name', 'traceloop.entity.name');
  return {
    tool: named ?? name.replace(/^(execute_tool|tools\/call)\s+/, '').replace(/\.tool$/, ''),
    callId: textIn(attributes, 'gen_ai.tool.call.id', 'tool_call.id', 'tool.id', 'ai.toolCall.id') ?? null,
    args: textIn(attributes, ...argumentNames) ?? '{}',
    result: textIn(attributes, ...resultNames) ?? null,
  };
}

const argumentNames = [
  'gen_ai.tool.call.arguments',
  'tool_call.function.arguments',
  'ai.toolCall.args',
  'input.value',
  'traceloop.entity.input',
  // Often the schema of the arguments.
  'tool.parameters',
];
const resultNames = ['gen_ai.tool.call.result', 'ai.toolCall.result', 'output.value', 'traceloop.entity.output'];
const contentNames = new Set([...argumentNames, ...resultNames, ...plainInputNames, ...plainOutputNames]);

/** The attributes without what was said: messages, arguments and results. */
export function withoutContent(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(([name]) => !contentNames.has(name) && !holdsMessages(name)),
  );
}

export type SpanAbout = {
  agent: string;
  session: string | null;
  user: string | null;
  question: string;
  answer: string | null;
};

const sessionNames = [
  'gen_ai.conversation.id',
  'session.id',
  'traceloop.association.properties.session_id',
  'ai.telemetry.metadata.sessionId',
];
const userNames = ['user.id', 'enduser.id', 'traceloop.association.properties.user_id', 'ai.telemetry.metadata.userId'];

/** What the outermost span says of its run. */
export function aboutOf(span: OtlpSpan): SpanAbout {
  const { attributes, resource, name } = span;
  const { input, output } = messagesOf(span);
  const asked = input.findLast(({ role }) => role === 'user') ?? input.at(-1);
  return {
    agent:
      textIn(attributes, 'gen_ai.agent.name', 'agent.name', 'llm.agent.name', 'traceloop.entity.name') ??
      (textIn(resource, 'service.name') || name),
    session: textIn(attributes, ...sessionNames) ?? null,
    user: textIn(attributes, ...userNames) ?? null,
    question: asked?.text ?? '',
    answer: output.findLast(({ text }) => text !== '')?.text ?? null,
  };
}

/** The first of the attributes that is there, as text. */
export function textIn(attributes: Attributes, ...names: string[]): string | undefined {
  for (const name of names) {
    const value: AttributeValue | undefined = attributes[name];
    if (value === undefined || value === null) continue;
    return typeof value === 'string' ? value : JSON.stringify(value);
  }
  return undefined;
}

/** What no model call comes near to; more is a mistake, and would not fit into sums. */
const countMax = 1_000_000_000_000;

function countIn(attributes: Attributes, ...names: string[]): number | null {
  for (const name of names) {
    const value = Number(attributes[name] ?? Number.NaN);
    if (Number.isInteger(value) && value >= 0 && value <= countMax) return value;
  }
  return null;
}
