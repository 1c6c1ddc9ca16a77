/** Pictures and files of tools on the page, in a real browser: shown or saved, and never run. */
import { crc32, deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { Fact } from '@pawl/contracts';
import { runIdAt, salesRunFacts } from '../../src/testing/sales-run.ts';
import { usePage } from '../testing/browser.ts';
import { key } from '../testing/played-api.ts';

const page = usePage();
const startedAt = new Date(Date.now() - 3_600_000).toISOString();
const png = pngOf(200, 900);
const hostile = `<svg xmlns="http://www.w3.org/2000/svg" onload="document.title='owned'"><script>document.title='owned'</script>
<image href="https://evil.example/p.png"/></svg>`;

type File = {
  type: string;
  bytes: Buffer;
  /** What it is served as, if not as what the result says. */ servedAs?: string;
};

/** A run whose results name files, each at its turn; a file without bytes is not kept any more. */
function runWith(seed: string, files: { m: number; file: File; isKept?: boolean }[]): string {
  const id = runIdAt(startedAt, seed);
  const facts = salesRunFacts({ runId: id, startedAt }).map((fact): Fact => {
    const named = fact.kind === 'observed' && fact.i === 0 ? files.filter(({ m }) => m === fact.m) : [];
    if (fact.kind !== 'observed' || named.length === 0) return fact;
    const content = named.map(({ file: { type, bytes } }, n) => ({
      type: 'image',
      mimeType: type,
      bytes: bytes.length,
      ref: `demo/${id}/${fact.m}/0/media-${n}`,
    }));
    for (const [n, { file, isKept = true }] of named.entries()) {
      const { type, bytes, servedAs = type } = file;
      if (isKept) page.api.putFile(`${id}/${fact.m}/0/media-${n}`, { type: servedAs, bytes });
    }
    return { ...fact, observation: { ...fact.observation, data: JSON.stringify(content) } };
  });
  page.api.put({ id, facts });
  return id;
}

const pictures = (tab: Page) => tab.getByRole('img', { name: /^Picture that the tool returned/ });
const lookAt = (tab: Page, nth = 0) => tab.locator('.media').nth(nth).scrollIntoViewIfNeeded();
const drawn = async (tab: Page, nth = 0) =>
  await expect
    .poll(() =>
      pictures(tab)
        .nth(nth)
        .evaluate((img) => (img as HTMLImageElement).naturalWidth),
    )
    .toBe(200);

async function saved(tab: Page, name: RegExp): Promise<{ name: string; bytes: Buffer }> {
  const download = tab.waitForEvent('download');
  await tab.getByRole('button', { name }).click();
  const file = await download;
  const chunks: Buffer[] = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
  return { name: file.suggestedFilename(), bytes: Buffer.concat(chunks) };
}

describe('a picture', () => {
  test('is drawn, no higher than a part of the page, with a text for those who can not see it', async () => {
    const id = runWith('drawn', [{ m: 0, file: { type: 'image/png', bytes: png } }]);
    const tab = await page.open(`/runs/${id}`);
    await lookAt(tab);
    await expect.poll(() => pictures(tab).count()).toBe(1);
    await drawn(tab);
    await expect.poll(async () => (await pictures(tab).boundingBox())?.height).toBeLessThan(430);
    await expect.poll(() => pictures(tab).getAttribute('src')).toMatch(/^blob:/);
    await expect.poll(() => pictures(tab).getAttribute('alt')).toMatch(/\(image\/png, [\d.,]+ \w+\)$/);
    const file = await saved(tab, /^Download/);
    expect(file.name).toBe(`${id}-0-0-media-0.png`);
    expect(file.bytes.equals(png)).toBe(true);
  });

  test('is fetched when it comes into view, with the key in a header, and given up with its card', async () => {
    const file = { type: 'image/png', bytes: png };
    const id = runWith(
      'far',
      [0, 3].map((m) => ({ m, file })),
    );
    const tab = await page.open('/runs');
    const asked: string[] = [];
    tab.on('request', (request) => {
      if (!request.url().includes('/v1/tools/results/')) return;
      expect(request.headers()['authorization']).toBe(`Bearer ${key}`);
      asked.push(new URL(request.url()).pathname);
    });
    await tab.addInitScript(() => {
      const { createObjectURL, revokeObjectURL } = URL;
      const live = new Set<string>();
      Object.assign(globalThis, { live });
      URL.createObjectURL = (blob) => {
        const url = createObjectURL.call(URL, blob);
        live.add(url);
        return url;
      };
      URL.revokeObjectURL = (url) => {
        live.delete(url);
        revokeObjectURL.call(URL, url);
      };
    });
    const hasLive = async (count: number) =>
      await expect
        .poll(() => tab.evaluate(() => (globalThis as unknown as { live: Set<string> }).live.size))
        .toBe(count);
    await tab.goto(`${page.api.url}/runs/${id}`);
    await lookAt(tab);
    await drawn(tab);
    expect(asked).toEqual([`/v1/tools/results/${id}/0/0/media-0`]);
    await lookAt(tab, 1);
    await drawn(tab, 1);
    expect(asked).toEqual([0, 3].map((m) => `/v1/tools/results/${id}/${m}/0/media-0`));
    await hasLive(2);
    await tab.getByRole('link', { name: 'Approvals' }).click();
    await hasLive(0);
  });
});

test('a PDF is a button that saves it under a name of its own', async () => {
  const bytes = Buffer.from('%PDF-1.7\n');
  const id = runWith('pdf', [{ m: 0, file: { type: 'application/pdf', servedAs: 'application/octet-stream', bytes } }]);
  const tab = await page.open(`/runs/${id}`);
  const { name, bytes: kept } = await saved(tab, /^Download .*\.pdf \(application\/pdf, 9 byte\)$/);
  expect([name, kept.toString()]).toEqual([`${id}-0-0-media-0.pdf`, '%PDF-1.7\n']);
});

test('a long result of which a part is shown can be saved as a whole', async () => {
  const id = runIdAt(startedAt, 'whole');
  const whole = `${'line\n'.repeat(50_000)}the end`;
  page.api.putFile(`${id}/0/0/text`, { type: 'text/plain; charset=utf-8', bytes: Buffer.from(whole) });
  const facts = salesRunFacts({ runId: id, startedAt }).map((fact): Fact => {
    if (fact.kind !== 'observed' || fact.m !== 0) return fact;
    const cut = { data: '"line\\n…"', truncated: true, ref: `demo/${id}/0/0/text` };
    return { ...fact, observation: { ...fact.observation, ...cut } };
  });
  page.api.put({ id, facts });
  const tab = await page.open(`/runs/${id}`);
  const { name, bytes } = await saved(tab, /^Download the whole result/);
  expect([name, bytes.toString()]).toEqual([`${id}-0-0-text.txt`, whole]);
});

describe('T12: hostile files', () => {
  test.each([
    ['SVG', { type: 'image/svg+xml' }, 0],
    ['HTML', { type: 'text/html' }, 0],
    ['SVG that is called a picture', { type: 'image/png' }, 1],
    ['HTML that is called a picture, served as HTML', { type: 'image/png', servedAs: 'text/html' }, 1],
    ['SVG that is called a picture, served as SVG', { type: 'image/jpeg', servedAs: 'image/svg+xml' }, 1],
  ])('%s is never drawn or run, and can be saved', async (what, types, sentences) => {
    const bytes = Buffer.from(hostile);
    const id = runWith(what, [{ m: 0, file: { ...types, bytes } }]);
    const tab = await page.open(`/runs/${id}`);
    const file = await saved(tab, /^Download/);
    expect(file.bytes.equals(bytes)).toBe(true);
    expect(file.name).toMatch(/-media-0(\.png|\.jpg)?$/);
    await expect.poll(() => tab.getByText('This is not a picture that can be shown.').count()).toBe(sentences);
    await expect.poll(() => tab.locator('main :is(img, iframe, object, embed, script)').count()).toBe(0);
    await expect.poll(() => tab.title()).not.toBe('owned');
    await expect.poll(() => tab.url()).toContain(`/runs/${id}`);
  });

  test('a reference to another place is not followed', async () => {
    const id = runIdAt(startedAt, 'elsewhere');
    const refs = ['demo/../../../evil/0/0/media-0', '//evil.example/run/0/0/media-0', 'demo/run_of_others/0/0/media-0'];
    const content = refs.map((ref) => ({ contentType: 'image/png', bytes: 9, ref }));
    const facts = salesRunFacts({ runId: id, startedAt }).map((fact): Fact => {
      if (fact.kind !== 'observed') return fact;
      return { ...fact, observation: { ...fact.observation, data: JSON.stringify(content) } };
    });
    page.api.put({ id, facts });
    const tab = await page.open(`/runs/${id}`);
    await tab.getByText('run_of_others').first().waitFor();
    await expect.poll(() => tab.locator('.media').count()).toBe(0);
  });
});

describe('what can not be had', () => {
  const lost = { m: 0, file: { type: 'image/png', bytes: png }, isKept: false };
  test.each([
    ['English', 'en-US', /^This file is no longer kept/],
    ['Chinese', 'zh-CN', /^此文件已不再保留/],
    ['Portuguese', 'pt-BR', /^Este arquivo não está mais guardado/],
  ])('is told in %s when it is gone', async (language, locale, sentence) => {
    const id = runWith(`gone ${language}`, [lost]);
    const tab = await page.open(`/runs/${id}`, { locale });
    await lookAt(tab);
    await tab.getByText(sentence).waitFor();
    await tab.locator('.media figcaption button').click();
    await expect.poll(() => tab.getByText(sentence).count()).toBe(2);
  });

  test.each([
    [403, { code: 'forbidden' }, 'This key may not do that.'],
    [503, { code: 'unavailable' }, 'A part that is needed does not answer.'],
    [502, {}, 'The service answered with 502.'],
  ])('is told when the answer is %i, and tried again', async (status, body, sentence) => {
    const id = runWith(`refused ${status}`, [{ ...lost, isKept: true }]);
    const path = `/v1/tools/results/${id}/0/0/media-0`;
    page.api.answerWith(path, { status, body });
    const tab = await page.open(`/runs/${id}`);
    await lookAt(tab);
    await tab.locator('.media').getByText(sentence).waitFor();
    page.api.answerWith(path, { status: 404, body: {} });
    await tab.locator('.media').getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => tab.getByText('This file is no longer kept').count()).toBe(1);
  });
});

/** A grey picture. */
function pngOf(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  const rows = Buffer.alloc((width + 1) * height, 120);
  for (let row = 0; row < height; row += 1) rows[row * (width + 1)] = 0;
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
