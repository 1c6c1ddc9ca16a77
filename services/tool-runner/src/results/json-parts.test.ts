import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createItemReader, createPartReader, createStringReader, stepsOf, type TextSink } from './json-parts.ts';

function gather(): TextSink & { text(): string } {
  let text = '';
  return { write: (piece) => void (text += piece), end: () => {}, text: () => text };
}

/** Feeds a text in pieces of these sizes, again and again. */
function feed(sink: TextSink, text: string, sizes: readonly number[]): void {
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    sink.write(text.slice(at, at + size));
    at += size;
  }
  sink.end();
}

function partOf(json: string, pointer: string, sizes: readonly number[] = [1_000]): string | undefined {
  const sink = gather();
  const reader = createPartReader(stepsOf(pointer), sink);
  feed(reader, json, sizes);
  return reader.isFound() ? sink.text() : undefined;
}

function valueAt(value: unknown, steps: readonly string[]): unknown {
  let part = value;
  for (const step of steps) part = (part as Record<string, unknown>)[step];
  return part;
}

function pointersIn(value: unknown, steps: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [steps];
  return [steps, ...Object.keys(value).flatMap((key) => pointersIn(value[key as never], [...steps, key]))];
}

const sizesArbitrary = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
const spaces = fc.constantFrom(0, 1, 3);

describe('JSON in pieces', () => {
  test('every part of any value is found, however the text is cut', () => {
    fc.assert(
      fc.property(fc.jsonValue(), spaces, sizesArbitrary, (value, space, sizes) => {
        const json = JSON.stringify(value, undefined, space);
        const parsed = JSON.parse(json) as unknown;
        for (const steps of pointersIn(parsed)) {
          const pointer = steps.map((step) => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
          expect(JSON.parse(partOf(json, pointer, sizes) ?? '')).toEqual(valueAt(parsed, steps));
        }
      }),
    );
  });

  test('what is not there is not found', () => {
    for (const pointer of ['/b', '/a/2', '/a/x', '/a/0/0', '/c']) {
      expect(partOf('{"a":[1,2],"d":{"b":1,"c":2}}', pointer)).toBeUndefined();
    }
  });

  test('items of a list, and rows of a table, are counted and kept as far as they fit', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), spaces, sizesArbitrary, (list, space, sizes) => {
        for (const value of [list, { columns: [], rows: list, rowCount: 1 }]) {
          const reader = createItemReader({ from: 1, countMax: 2, charsMax: 1_000_000 });
          feed(reader, JSON.stringify(value, undefined, space), sizes);
          expect(reader.total()).toBe(list.length);
          const expected = JSON.parse(JSON.stringify(list.slice(1, 3))) as unknown;
          expect((reader.items() ?? []).map((item) => JSON.parse(item) as unknown)).toEqual(expected);
        }
      }),
    );
    const reader = createItemReader({ from: 0, countMax: 100, charsMax: 8 });
    feed(reader, '[111,222,3]', [3]);
    expect([reader.items(), reader.total()]).toEqual([['111', '222'], 3]);
  });

  test('the characters of a text come out as they were, however it is cut', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('😀\\u"', '\ud83d', '\ude00\ud83d\ud83d', 'a"]'),
    );
    fc.assert(
      fc.property(texts, fc.boolean(), sizesArbitrary, (text, isAscii, sizes) => {
        const json = JSON.stringify(text);
        const escaped = isAscii
          ? json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          : json;
        const sink = gather();
        const reader = createStringReader(sink);
        feed(reader, escaped, sizes);
        expect(reader.isText()).toBe(true);
        expect(sink.text()).toBe(text);
      }),
    );
    const reader = createStringReader(gather());
    feed(reader, '["a"]', [2]);
    expect(reader.isText()).toBe(false);
  });

  test('C4: broken and hostile text is read as far as it goes', () => {
    expect(partOf('{"a":[1,2', '/a/1')).toBe('2');
    expect(partOf('}}]]{"a":1', '/a')).toBe('1');
    expect(partOf(`${'['.repeat(300_000)}1`, '/0/0')).toMatch(/^\[+/);
    const halves = gather();
    const before = performance.now();
    feed(createStringReader(halves), `"${String.raw`\ud83d`.repeat(200_000)}"`, [16_384]);
    expect(halves.text()).toHaveLength(200_000);
    expect(performance.now() - before).toBeLessThan(5_000);
  });
});
