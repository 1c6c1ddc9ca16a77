/**
 * The messages of a model call in one shape, out of every place where the dialects put them: attributes with JSON, flattened
 * attributes (`gen_ai.prompt.0.content`, `llm.input_messages.0.message.content`), and events. Pure.
 */
import type { Attributes, OtlpSpan } from './span.ts';

export type MessageCall = { id: string; tool: string; args: string };
export type Message = { role: string; text: string; reasoning: string; calls: MessageCall[]; callId?: string };

type Loose = Record<string, unknown>;

/** What went into the model and what came out. */
export function messagesOf({ attributes, events }: OtlpSpan): { input: Message[]; output: Message[] } {
  const details = events.find(({ name }) => name === 'gen_ai.client.inference.operation.details')?.attributes ?? {};
  const pick = (name: string) => listed(jsonOf(attributes[name] ?? details[name]));
  const system = pick('gen_ai.system_instructions');
  const input = firstFilled(
    () => [
      ...(system.length > 0 ? [readMessage({ role: 'system', parts: system })] : []),
      ...pick('gen_ai.input.messages').map(readMessage),
    ],
    () => flattened(attributes, 'gen_ai.prompt'),
    () => flattened(attributes, 'llm.input_messages', 'message.'),
    () => eventMessages(events, /^gen_ai\.(system|user|assistant|tool)\.message$/),
  );
  const output = firstFilled(
    () => pick('gen_ai.output.messages').map(readMessage),
    () => flattened(attributes, 'gen_ai.completion'),
    () => flattened(attributes, 'llm.output_messages', 'message.'),
    () => eventMessages(events, /^gen_ai\.choice$/),
  );
  return { input, output };
}

/** The names of attributes and events that hold messages, which are kept as such. */
export function holdsMessages(name: string): boolean {
  return /^(gen_ai\.(prompt|completion)\.\d|llm\.(input|output)_messages\.\d|gen_ai\.(input|output)\.messages$|gen_ai\.system_instructions$)/.test(
    name,
  );
}

export function textOfMessage({ text }: Message): string {
  return text;
}

function firstFilled(...sources: (() => Message[])[]): Message[] {
  for (const source of sources) {
    const messages = source();
    if (messages.length > 0) return messages;
  }
  return [];
}

/** A message of the conventions: parts, or content and tool calls as providers have them. */
function readMessage(value: unknown): Message {
  const message = objectOf(value);
  const parts = listed(message['parts'] ?? (Array.isArray(message['content']) ? message['content'] : undefined)).map(
    objectOf,
  );
  const texts = parts.filter(({ type }) => type === 'text' || type === undefined);
  const plain = typeof message['content'] === 'string' ? message['content'] : '';
  const answered = parts.find(({ type }) => type === 'tool_call_response');
  const callId = textOf(message['tool_call_id'] ?? message['id'] ?? answered?.['id']);
  return {
    role: textOf(message['role']) || 'assistant',
    text:
      plain ||
      texts.map((part) => textOf(part['content'] ?? part['text'])).join('\n') ||
      textOf(answered?.['response'] ?? answered?.['result']),
    reasoning: parts
      .filter(({ type }) => type === 'reasoning')
      .map((part) => textOf(part['content'] ?? part['text']))
      .join('\n'),
    calls: [...parts.filter(({ type }) => type === 'tool_call'), ...listed(message['tool_calls']).map(objectOf)].map(
      readCall,
    ),
    ...(callId === '' ? {} : { callId }),
  };
}

function readCall(call: Loose): MessageCall {
  const inner = objectOf(call['function']);
  const args = call['arguments'] ?? inner['arguments'] ?? call['args'];
  return {
    id: textOf(call['id']),
    tool: textOf(call['name'] ?? inner['name']),
    args: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
  };
}

/** `prefix.N.…`: attributes of a message each on its own. `inner` stands between the number and the name. */
function flattened(attributes: Attributes, prefix: string, inner = ''): Message[] {
  const byNumber = new Map<number, Loose>();
  for (const [name, value] of Object.entries(attributes)) {
    if (!name.startsWith(`${prefix}.`)) continue;
    const [, number, path] = /^(\d{1,5})\.(.+)$/.exec(name.slice(prefix.length + 1)) ?? [];
    if (number === undefined || !path?.startsWith(inner)) continue;
    const message = byNumber.get(Number(number)) ?? {};
    message[path.slice(inner.length)] = value;
    byNumber.set(Number(number), message);
  }
  return [...byNumber.entries()].toSorted(([left], [right]) => left - right).map(([, message]) => readFlat(message));
}

function readFlat(message: Loose): Message {
  const calls = new Map<string, MessageCall>();
  const contents: string[] = [];
  for (const [path, value] of Object.entries(message)) {
    const [, number, field] =
      /^tool_calls\.(\d{1,5})\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)$/.exec(path) ?? [];
    if (number !== undefined) {
      const call = calls.get(number) ?? { id: '', tool: '', args: '{}' };
      calls.set(number, {
        ...call,
        [field === 'name' ? 'tool' : field === 'arguments' ? 'args' : 'id']: textOf(value),
      });
    } else if (/^contents\.\d{1,5}\.message_content\.text$/.test(path)) contents.push(textOf(value));
  }
  const callId = textOf(message['tool_call_id']);
  return {
    role: textOf(message['role']) || 'assistant',
    text: textOf(message['content']) || contents.join('\n'),
    reasoning: '',
    calls: [...calls.values()],
    ...(callId === '' ? {} : { callId }),
  };
}

function eventMessages(events: OtlpSpan['events'], wanted: RegExp): Message[] {
  return events
    .filter(({ name }) => wanted.test(name))
    .map(({ name, attributes }) => {
      const content = objectOf(
        jsonOf(attributes['gen_ai.event.content'] ?? attributes['message'] ?? attributes['body']),
      );
      const message = { ...attributes, ...content, ...objectOf(content['message']) };
      return readMessage({
        ...message,
        role: message['role'] ?? /^gen_ai\.(\w+)\.message$/.exec(name)?.[1] ?? 'assistant',
      });
    });
}

/** The value that JSON text says; other values as they are; undefined for text that is no JSON. */
export function jsonOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return undefined;
  }
}

export function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
