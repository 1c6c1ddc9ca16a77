import { describe, expect, test } from 'vitest';
import { textData, visibleJson, visibleText } from './visible-text.ts';

describe('visible text', () => {
  test('control, bidirectional, zero-width and tag characters are spelled out', () => {
    expect(visibleText('a\u001b[31mb\u202ec\u200bd\u{e0041}')).toBe(
      String.raw`a\u{1b}[31mb\u{202e}c\u{200b}d\u{e0041}`,
    );
  });

  test('line breaks, tabs and ordinary letters of any script stay', () => {
    const text = 'linha 1\n\tação 数据 🙂 عربي';
    expect(visibleText(text)).toBe(text);
  });

  test('a flood of them, as in a binary file, is replaced', () => {
    expect(visibleText('\u0001'.repeat(20_000))).toBe('\ufffd'.repeat(20_000));
    expect(visibleText('a\u{e0041}'.repeat(20_000))).toBe('a\ufffd\ufffd'.repeat(20_000));
    expect(visibleJson(JSON.stringify('\u202e'.repeat(20_000)))).toBe(JSON.stringify('\ufffd'.repeat(20_000)));
  });

  test('JSON keeps its value but shows the characters', () => {
    const json = JSON.stringify({ a: 'x\u202ey\u{e0041}' });
    const visible = visibleJson(json);
    expect(visible).toBe(String.raw`{"a":"x\u202ey\udb40\udc41"}`);
    expect(JSON.parse(visible)).toEqual(JSON.parse(json));
  });

  test('a text with half a surrogate pair becomes well-formed', () => {
    expect(JSON.parse(textData('a\ud800b'))).toBe('a\ufffdb');
  });
});
