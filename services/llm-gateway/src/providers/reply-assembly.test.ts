import { describe, expect, it } from 'vitest';
import { createReplyAssembly, type CallFragment, type ReplyChunk } from './reply-assembly.ts';

function assemble(...chunks: ReplyChunk[]) {
  const assembly = createReplyAssembly('call_0');
  for (const chunk of chunks) assembly.add(chunk);
  const { choices, reasoningText: _reasoning, ...reply } = assembly.result();
  const { refusal: _refusal, ...first } = choices[0];
  return { ...reply, ...first };
}
const callsOf = (...fragments: CallFragment[]) =>
  assemble(...fragments.map((fragment) => ({ choices: [{ delta: { tool_calls: [fragment] } }] }))).calls;
const start = (labels: { index?: number | null; id?: string | null }, name: string, args = '') => ({
  ...labels,
  function: { name, arguments: args },
});
const more = (labels: { index?: number; id?: string }, args: string) => ({ ...labels, function: { arguments: args } });

const expected = [
  { id: 'a', tool: 'first', args: '{"x":1}' },
  { id: 'b', tool: 'second', args: '{"y":2}' },
  { id: 'c', tool: 'third', args: '{"z":3}' },
];

describe('three parallel calls', () => {
  it('interleaved in fragments, by index', () => {
    expect(
      callsOf(
        start({ index: 0, id: 'a' }, 'first'),
        start({ index: 1, id: 'b' }, 'second'),
        start({ index: 2, id: 'c' }, 'third'),
        more({ index: 2 }, '{"z"'),
        more({ index: 0 }, '{"x"'),
        more({ index: 1 }, '{"y":2}'),
        more({ index: 0 }, ':1}'),
        more({ index: 2 }, ':3}'),
      ),
    ).toEqual(expected);
  });

  it('all with index 0 but ids of their own', () => {
    expect(
      callsOf(
        start({ index: 0, id: 'a' }, 'first', '{"x":'),
        start({ index: 0, id: 'b' }, 'second', '{"y":'),
        start({ index: 0, id: 'c' }, 'third', '{"z":'),
        more({ index: 0, id: 'b' }, '2}'),
        more({ index: 0, id: 'a' }, '1}'),
        more({ index: 0 }, '3}'),
      ),
    ).toEqual(expected);
  });

  it('without an index', () => {
    expect(
      callsOf(
        start({ id: 'a' }, 'first', '{"x":'),
        more({}, '1}'),
        start({ id: 'b' }, 'second'),
        start({ id: 'c' }, 'third', '{"z":3}'),
        more({ id: 'b' }, '{"y":2}'),
      ),
    ).toEqual(expected);
  });

  it('with neither index nor id, whole and one after the other', () => {
    expect(callsOf(start({}, 'first', '{"x":1}'), start({ index: null, id: null }, 'first', '{"x":2}'))).toEqual([
      { id: 'call_0_0', tool: 'first', args: '{"x":1}' },
      { id: 'call_0_1', tool: 'first', args: '{"x":2}' },
    ]);
  });

  it('with one id for two indexes: both stay, under ids of their own', () => {
    expect(callsOf(start({ index: 0, id: 'a' }, 'first'), start({ index: 1, id: 'a' }, 'second'))).toEqual([
      { id: 'a', tool: 'first', args: '' },
      { id: 'call_0_1', tool: 'second', args: '' },
    ]);
  });

  it('with the name repeated in every fragment, or in pieces', () => {
    expect(callsOf(start({ index: 0, id: 'a' }, 'first', '{'), start({ index: 0, id: 'a' }, 'first', '}'))).toEqual([
      { id: 'a', tool: 'first', args: '{}' },
    ]);
    expect(callsOf(start({ index: 0, id: 'a' }, 'fi'), start({ index: 0 }, 'rst'))[0]?.tool).toBe('first');
  });
});

describe('a reply', () => {
  it('joins text, and keeps the last finish reason and usage', () => {
    expect(
      assemble(
        { id: 'r', model: 'm', choices: [{ delta: { content: 'Hel' } }], usage: null },
        { choices: [{ delta: { content: 'lo' } }] },
        { choices: [{ delta: {}, finish_reason: 'stop' }] },
        { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      ),
    ).toEqual({
      text: 'Hello',
      calls: [],
      finishReason: 'stop',
      responseId: 'r',
      responseModel: 'm',
      usage: { inputTokens: 3, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, reasoningTokens: 0 },
    });
  });

  it('is not finished without a finish reason, and says which chunks carry output', () => {
    const assembly = createReplyAssembly('x');
    const text = { kind: 'text', choice: 0, text: 'a' };
    expect(assembly.add({ choices: [{ delta: { content: '' } }] })).toEqual({ pieces: [], isAlive: false });
    expect(assembly.add({ choices: [{ delta: { content: 'a' } }] })).toEqual({ pieces: [text], isAlive: true });
    expect(assembly.add({ choices: [{ delta: { reasoning_content: 'hm' } }] })).toEqual({ pieces: [], isAlive: true });
    expect(assembly.add({ choices: null })).toEqual({ pieces: [], isAlive: false });
    expect(assembly.result()).toMatchObject({ reasoningText: 'hm', choices: [{ text: 'a' }] });
    expect(assembly.result().choices[0].finishReason).toBeUndefined();
  });

  it('keeps choices apart, and their calls under names of their own', () => {
    const assembly = createReplyAssembly('call', 2);
    const call = (index: number) => ({
      index,
      delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'look' } }] },
    });
    assembly.add({ choices: [call(0), call(1)] });
    assembly.add({
      choices: [
        { index: 1, delta: { content: 'B' } },
        { index: 2, delta: { content: 'nobody asked' } },
      ],
    });
    const { choices } = assembly.result();
    expect(choices.map(({ text, calls }) => [text, calls[0]?.id])).toEqual([
      ['', 'a'],
      ['B', 'call_1_0'],
    ]);
  });

  it('tells each call from its first fragment on under one id', () => {
    const assembly = createReplyAssembly('call');
    const pieces = [
      { index: 0, function: { name: 'look', arguments: '{' } },
      { index: 0, id: 'late', function: { arguments: '}' } },
    ].flatMap((fragment) => assembly.add({ choices: [{ delta: { tool_calls: [fragment] } }] }).pieces);
    expect(pieces).toEqual([
      { kind: 'call', choice: 0, position: 0, id: 'call_0', tool: 'look', args: '{' },
      { kind: 'call', choice: 0, position: 0, args: '}' },
    ]);
    expect(assembly.result().choices[0].calls).toEqual([{ id: 'call_0', tool: 'look', args: '{}' }]);
  });
});
