import { expect, test } from 'vitest';
import { mediaIn, wholeResultOf } from './stored-media.ts';

const run = 'run_0190';
const ref = (part: string, of = run) => `demo/${of}/2/1/${part}`;
const pathsIn = (value: unknown, of: string | undefined = run) =>
  mediaIn(JSON.stringify(value), of).map(({ path }) => path);

test('an answer over HTTP and the parts of an MCP result name their files', () => {
  const http = { contentType: 'image/png', bytes: 2_000_000, ref: ref('media-0') };
  expect(mediaIn(JSON.stringify(http), run)).toEqual([
    {
      path: `/v1/tools/results/${run}/2/1/media-0`,
      name: `${run}-2-1-media-0.png`,
      type: 'image/png',
      bytes: 2_000_000,
      isShown: true,
    },
  ]);
  const resource = { uri: 'file:///a.pdf', mimeType: 'Application/PDF; x=1', bytes: 7, ref: ref('media-1') };
  const mcp = { structured: { n: 1 }, content: ['text', http, { type: 'resource', resource }, http] };
  const all = mediaIn(JSON.stringify(mcp), run);
  expect(all.map(({ name, isShown }) => [name, isShown])).toEqual([
    [`${run}-2-1-media-0.png`, true],
    [`${run}-2-1-media-1.pdf`, false],
  ]);
});

test.each([
  ['image/svg+xml', 9],
  ['text/html', 9],
  ['constructor/x', 9],
  ['image/png" onerror="x', 9],
  [undefined, 9],
  ['image/png', 10_485_761],
])('%s of %i bytes is not shown in place', (mimeType, bytes) => {
  expect(mediaIn(JSON.stringify({ mimeType, bytes, ref: ref('media-0') }), run)).toMatchObject([{ isShown: false }]);
});

test('what is no file of the run is passed over', () => {
  const refs = [ref('media-0', 'run_other'), ref('text'), ref('../media-0'), `../../${ref('media-0')}`, 'media-0', 7];
  expect(pathsIn(refs.map((each) => ({ contentType: 'image/png', bytes: 9, ref: each })))).toEqual([]);
  expect(mediaIn(`{"ref":"${ref('media-0')}"`, run)).toEqual([]);
  const seeded = { contentType: 'image/png', bytes: 9, ref: ref('media-0', 'run_other') };
  expect(mediaIn(JSON.stringify(seeded), undefined)).toHaveLength(1);
});

test('a result can not make the page fetch without end', () => {
  const many = Array.from({ length: 500 }, (_, n) => ({ mimeType: 'image/png', bytes: 9, ref: ref(`media-${n}`) }));
  expect(pathsIn(many)).toHaveLength(100);
});

test('the whole of a result that is shown in part can be had, of the shown run only', () => {
  expect(wholeResultOf(`demo/${run}/2/1`, run)).toEqual({
    path: `/v1/tools/results/${run}/2/1`,
    name: `${run}-2-1.json`,
  });
  expect(wholeResultOf(ref('text'), run)).toEqual({
    path: `/v1/tools/results/${run}/2/1/text`,
    name: `${run}-2-1-text.txt`,
  });
  const others = [null, ref('media-0'), ref('text', 'run_other'), `demo/../${run}/2/1`, `demo/${run}/2/1/text/x`];
  expect(others.map((each) => wholeResultOf(each, run))).toEqual(others.map(() => undefined));
  expect(wholeResultOf(ref('text', 'run_other'), undefined)).toBeDefined();
});
