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
  const inEvent = (wanted: string): Attributes => events.find(({ name }) => name === wanted)?.attributes ?? {};
  const details = inEvent('gen_ai.client.inference.operation.details');
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
    () => toldAs(attributes['gen_ai.prompt'] ?? inEvent('gen_ai.content.prompt')['gen_ai.prompt'], 'user'),
    () => flattened(attributes, 'llm.prompts'),
    () => toldAs(attributes['ai.prompt.messages'] ?? attributes['ai.prompt'], 'user'),
    () => plainMessage(attributes, plainInputNames, 'user'),
  );
  const output = firstFilled(
    () => pick('gen_ai.output.messages').map(readMessage),
    () => flattened(attributes, 'gen_ai.completion'),
    () => flattened(attributes, 'llm.output_messages', 'message.'),
    () => eventMessages(events, /^gen_ai\.choice$/),
    () =>
      toldAs(attributes['gen_ai.completion'] ?? inEvent('gen_ai.content.completion')['gen_ai.completion'], 'assistant'),
    () => flattened(attributes, 'llm.completions'),
    () => flattened(attributes, 'llm.choices'),
    () => answerOfSdk(attributes),
    () => plainMessage(attributes, plainOutputNames, 'assistant'),
  );
  return { input, output };
}

/** Attributes in which some dialects say what went in and what came out, of whatever it is. */
export const plainInputNames = ['input.value', 'traceloop.entity.input'];
export const plainOutputNames = ['output.value', 'traceloop.entity.output'];

const messageNames =
  /^(gen_ai\.(prompt|completion)(\.\d.*)?|llm\.(input_messages|output_messages|prompts|completions|choices)\.\d.*|gen_ai\.(input|output)\.messages|gen_ai\.system_instructions|ai\.prompt(\.messages)?|ai\.response\.(text|toolCalls))$/;
const messageEvents = /^gen_ai\.((system|user|assistant|tool)\.message|choice|content\.(prompt|completion))$/;

/** Whether an attribute of this name holds messages, which are kept as such. */
export function holdsMessages(name: string): boolean {
  return messageNames.test(name);
}

/** Whether an event of this name is a message, which is kept as such. */
export function isMessageEvent(name: string): boolean {
  return messageEvents.test(name);
}

function firstFilled(...sources: (() => Message[])[]): Message[] {
  for (const source of sources) {
    const messages = source();
    if (messages.length > 0) return messages;
  }
  return [];
}

/** JSON with one or more messages, or plain words. */
function toldAs(value: unknown, role: string): Message[] {
  if (value === undefined || value === null || value === '') return [];
  const said = jsonOf(value);
  const told = objectOf(said)['messages'] ?? objectOf(said)['prompt'] ?? said ?? value;
  const messages = (Array.isArray(told) ? told : [told]).map((item) =>
    readMessage(typeof item === 'string' ? { role, content: item } : { role, ...objectOf(item) }),
  );
  const isUnderstood = messages.some(({ text, calls }) => text !== '' || calls.length > 0);
  return isUnderstood ? messages : [readMessage({ role, content: textOf(value) })];
}

/** How the AI SDK tells a reply. */
function answerOfSdk(attributes: Attributes): Message[] {
  const calls = listed(jsonOf(attributes['ai.response.toolCalls']));
  const content = textOf(attributes['ai.response.text'] ?? attributes['ai.response.object']);
  return content === '' && calls.length === 0 ? [] : [readMessage({ role: 'assistant', content, tool_calls: calls })];
}

function plainMessage(attributes: Attributes, names: readonly string[], role: string): Message[] {
  const text = names.map((name) => attributes[name]).find((value) => value !== undefined && value !== null);
  return text === undefined ? [] : [readMessage({ role, content: plainOf(textOf(text)) })];
}

/** The words in a text that some dialects wrap into JSON. */
function plainOf(text: string): string {
  return wordsIn(jsonOf(text), wrappedDeep) ?? text;
}

const wrappedDeep = 5;
const wrappers = ['content', 'text', 'output', 'input', 'question', 'query', 'prompt', 'message', 'messages', 'kwargs'];

function wordsIn(value: unknown, levels: number): string | undefined {
  if (typeof value === 'string') return value;
  if (levels === 0 || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return wordsIn(value.at(-1), levels - 1);
  for (const name of wrappers) {
    const words = wordsIn((value as Loose)[name], levels - 1);
    if (words !== undefined) return words;
  }
  return undefined;
}

const textTypes: readonly unknown[] = [undefined, 'text', 'input_text', 'output_text'];
const reasoningTypes: readonly unknown[] = ['reasoning', 'thinking'];
const callTypes: readonly unknown[] = ['tool_call', 'tool-call', 'tool_use', 'function_call'];
const resultTypes: readonly unknown[] = ['tool_call_response', 'tool-result', 'tool_result'];

/** A message of the conventions: parts, or content and tool calls as providers have them. */
function readMessage(value: unknown): Message {
  const message = objectOf(value);
  const parts = listed(message['parts'] ?? listIn(message['content'])).map(objectOf);
  const saidBy = (types: readonly unknown[]) =>
    parts
      .filter(({ type }) => types.includes(type))
      .map((part) => textOf(part['content'] ?? part['text'] ?? part['thinking']))
      .filter((text) => text !== '')
      .join('\n');
  const plain = parts.length === 0 && !Array.isArray(message['content']) ? textOf(message['content']) : '';
  const answered = parts.find(({ type }) => resultTypes.includes(type)) ?? {};
  const callId = textOf(
    message['tool_call_id'] ??
      message['id'] ??
      answered['id'] ??
      answered['toolCallId'] ??
      answered['tool_use_id'] ??
      answered['tool_call_id'],
  );
  const calls = [...parts.filter(({ type }) => callTypes.includes(type)), ...listed(message['tool_calls'])];
  return {
    role: textOf(message['role']) || 'assistant',
    text:
      plain ||
      saidBy(textTypes) ||
      textOf(answered['response'] ?? answered['result'] ?? answered['output'] ?? answered['content']),
    reasoning: saidBy(reasoningTypes) || textOf(message['reasoning_content']),
    calls: calls.map(objectOf).map(readCall),
    ...(callId === '' ? {} : { callId }),
  };
}

/** Parts, also where they are told as JSON text. */
function listIn(content: unknown): unknown[] | undefined {
  if (Array.isArray(content)) return content;
  if (typeof content !== 'string' || !/^\s*\[\s*\{/.test(content)) return undefined;
  const parts = listed(jsonOf(content));
  return parts.length > 0 && parts.every((part) => 'type' in objectOf(part)) ? parts : undefined;
}

function readCall(call: Loose): MessageCall {
  const inner = objectOf(call['function']);
  const args = call['arguments'] ?? inner['arguments'] ?? call['args'] ?? call['input'];
  return {
    id: textOf(call['id'] ?? call['toolCallId'] ?? call['call_id']),
    tool: textOf(call['name'] ?? inner['name'] ?? call['toolName']),
    args: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
  };
}

/** `prefix.N.…`: attributes of a message each on its own. `inner` stands between the number and the name. */
function flattened(attributes: Attributes, prefix: string, inner = ''): Message[] {
  const byNumber = new Map<number, Loose>();
  const start = `${prefix}.`;
  for (const name in attributes) {
    if (!name.startsWith(start)) continue;
    const value = attributes[name];
    const [, number, path] = /^(\d{1,5})\.(.+)$/.exec(name.slice(start.length)) ?? [];
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
  const legacy = readCall({
    name: message['function_call_name'],
    arguments: message['function_call_arguments_json'],
  });
  const said = message['content'] ?? message['prompt.text'] ?? message['completion.text'] ?? contents.join('\n');
  const told = readMessage({ ...message, content: said });
  return { ...told, calls: [...told.calls, ...calls.values(), ...(legacy.tool === '' ? [] : [legacy])] };
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
function jsonOf(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (!/^\s*[[{"\-0-9tfn]/.test(value)) return undefined;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return undefined;
  }
}

function listed(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Loose) : {};
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
