import { describe, expect, test } from 'vitest';
import { outcomeOfResult } from './tool-result.ts';

const image = { type: 'image', mimeType: 'image/png', data: Buffer.alloc(300, 7).toString('base64') };
const contents = { none: [], text: [{ type: 'text', text: 'Two rows.' }], image: [image] };
const structured = { none: undefined, valid: { rows: 2 }, invalid: { rows: 'two' } };
const notes = { none: 'no structured', valid: '', invalid: '/rows' };
const check = (value: unknown) => ((value as { rows: unknown }).rows === 2 ? undefined : '/rows: expected a number');

const cells = [false, true].flatMap((isError) =>
  (['none', 'text', 'image'] as const).flatMap((content) =>
    (['none', 'valid', 'invalid'] as const).map((kind) => ({ isError, content, kind })),
  ),
);

describe('results of MCP tools', () => {
  test.each(cells)('C18: isError $isError, content $content, structured $kind: nothing is lost', (cell) => {
    const outcome = outcomeOfResult(
      { content: contents[cell.content], structuredContent: structured[cell.kind], isError: cell.isError },
      true,
      check,
    );
    const shown = (outcome.kind === 'result' ? (outcome.shown ?? outcome.data) : outcome.data) ?? '';
    const said = outcome.kind === 'result' ? outcome.note : outcome.message;
    expect(outcome.kind).toBe(cell.isError ? 'failure' : 'result');
    expect(shown).toContain({ none: '', text: 'Two rows.', image: '"mimeType":"image/png","bytes":300' }[cell.content]);
    expect(shown).toContain(cell.kind === 'none' ? '' : JSON.stringify(structured[cell.kind]));
    expect(said ?? '').toContain(cell.isError ? 'reports that it failed' : notes[cell.kind]);
  });

  test('C8: the bytes of a picture are in the whole result and not in what the model sees', () => {
    const outcome = outcomeOfResult({ content: [image] }, false, check);
    expect(outcome).toMatchObject({ data: expect.stringContaining(image.data) });
    expect(outcome).toMatchObject({ shown: expect.not.stringContaining(image.data) });
  });

  test('a text that repeats the structured content is told once', () => {
    const outcome = outcomeOfResult(
      { content: [{ type: 'text', text: '{ "rows": 2 }' }], structuredContent: { rows: 2 } },
      true,
      check,
    );
    expect(outcome).toEqual({ kind: 'result', data: '{"rows":2}' });
  });

  test('kinds of content that are not known are passed on', () => {
    const outcome = outcomeOfResult({ content: [{ type: 'hologram', shape: 'cube' }] }, false, check);
    expect(outcome).toMatchObject({ data: '{"type":"hologram","shape":"cube"}' });
  });
});
