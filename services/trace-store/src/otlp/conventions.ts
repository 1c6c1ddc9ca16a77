/**
 * What a span says, whatever its dialect: the GenAI conventions of OpenTelemetry, new and old, OpenInference, OpenLLMetry.
 * Pure. Names are in otel's registries; the newest is looked for first.
 */
import { jsonOf, listed, type Message, messagesOf, textOfMessage } from './messages.ts';
import type { Attributes, AttributeValue, OtlpSpan } from './span.ts';

export type SpanKind = 'agent' | 'thought' | 'call' | 'other';

const thoughtOperations = ['chat', 'text_completion', 'generate_content', 'completion'];
const agentKinds = ['agent', 'workflow', 'invoke_agent', 'invoke_workflow'];

/** What a span stands for. */
export function kindOf({ attributes, name }: Pick<OtlpSpan, 'attributes' | 'name'>): SpanKind {
  const said = textIn(
    attributes,
    'gen_ai.operation.name',
    'llm.request.type',
    'openinference.span.kind',
    'traceloop.span.kind',
  );
  const word = said?.toLowerCase();
  if (word !== undefined) {
    if (thoughtOperations.includes(word) || word === 'llm') return 'thought';
    if (word === 'execute_tool' || word === 'tool') return 'call';
    if (agentKinds.includes(word)) return 'agent';
    return 'other';
  }
  if (attributes['mcp.method.name'] === 'tools/call' || 'gen_ai.tool.name' in attributes) return 'call';
  if ('gen_ai.request.model' in attributes || 'llm.model_name' in attributes) return 'thought';
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
    ),
    outputTokens: count(
      'gen_ai.usage.output_tokens',
      'gen_ai.usage.completion_tokens',
      'llm.token_count.completion',
      'llm.usage.completion_tokens',
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
  return textIn(attributes, 'gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name');
}

export function providerOf({ attributes }: OtlpSpan): string | undefined {
  return textIn(attributes, 'gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system');
}

export type SpanCall = { tool: string; callId: string | null; args: string; result: string | null };

/** What a span of a tool call says. */
export function callOf({ attributes, name }: OtlpSpan): SpanCall {
  const named = textIn(attributes, 'gen_ai.tool.name', 'tool.name', 'traceloop.entity.name');
  return {
    tool: named ?? name.replace(/^(execute_tool|tools\/call)\s+/, '').replace(/\.tool$/, ''),
    callId: textIn(attributes, 'gen_ai.tool.call.id', 'tool_call.id', 'tool.id') ?? null,
    args:
      textIn(attributes, 'gen_ai.tool.call.arguments', 'tool.parameters', 'input.value', 'traceloop.entity.input') ??
      '{}',
    result: textIn(attributes, 'gen_ai.tool.call.result', 'output.value', 'traceloop.entity.output') ?? null,
  };
}

export type SpanAbout = {
  agent: string;
  session: string | null;
  user: string | null;
  question: string;
  answer: string | null;
};

/** What the outermost span says of its run. */
export function aboutOf(span: OtlpSpan): SpanAbout {
  const { attributes, resource, name } = span;
  const { input, output } = messagesOf(span);
  const asked = input.findLast(({ role }) => role === 'user') ?? input.at(-1);
  return {
    agent:
      textIn(attributes, 'gen_ai.agent.name', 'agent.name', 'llm.agent.name', 'traceloop.entity.name') ??
      (textIn(resource, 'service.name') || name),
    session:
      textIn(attributes, 'gen_ai.conversation.id', 'session.id', 'traceloop.association.properties.session_id') ?? null,
    user: textIn(attributes, 'user.id', 'enduser.id', 'traceloop.association.properties.user_id') ?? null,
    question: asked
      ? textOfMessage(asked)
      : (plainOf(textIn(attributes, 'input.value', 'traceloop.entity.input')) ?? ''),
    answer: lastText(output) ?? plainOf(textIn(attributes, 'output.value', 'traceloop.entity.output')) ?? null,
  };
}

function lastText(messages: readonly Message[]): string | undefined {
  const text = messages.map(textOfMessage).findLast((words) => words !== '');
  return text;
}

/** The words in a value that some dialects wrap into JSON. */
function plainOf(text: string | undefined): string | undefined {
  const value = text === undefined ? undefined : jsonOf(text);
  if (typeof value === 'string') return value;
  const inner = listed(value).at(-1) ?? value;
  if (typeof inner !== 'object' || inner === null) return text;
  for (const name of ['content', 'text', 'output', 'input', 'question', 'query']) {
    const found = (inner as Record<string, unknown>)[name];
    if (typeof found === 'string') return found;
  }
  return text;
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

function countIn(attributes: Attributes, ...names: string[]): number | null {
  for (const name of names) {
    const value = Number(attributes[name] ?? Number.NaN);
    if (Number.isSafeInteger(value) && value >= 0) return value;
  }
  return null;
}
