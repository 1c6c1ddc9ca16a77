/**
 * A real Chromium with the page in it, for tests. It has no way out of this machine: a request to another host, an error on
 * the page or a violation of its security policy fails the test that caused it. `PAWL_TEST_PAGE_SLOWNESS=6` makes its
 * processor so many times slower and lets its answers come late and out of order: tests have to pass then, too.
 */
import { basename, join } from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { findChromium } from '@pawl/devstack';
import { buildPage } from '../build.mjs';
import { pageSlowness, picturesFolder } from './config.ts';
import { key, startPlayedApi, type PlayedApi } from './played-api.ts';

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

export type BrowserUnderTest = {
  /**
   * A tab at an address of the page that `url` serves, with the key of an app; or without a key where people sign in
   * through an issuer, which is the one other host that may be asked then.
   */
  open(url: string, path: string, options?: BrowserContextOptions & { issuer?: string }): Promise<Page>;
};

/** Chromium for the tests of a file. Tests are skipped where there is none. */
export function useBrowser(): BrowserUnderTest {
  let browser: Browser | undefined;
  let pages: Page[] = [];
  let faults: string[] = [];
  vi.setConfig({ testTimeout: 120_000 });
  beforeAll(async () => {
    const executablePath = await findChromium();
    if (executablePath === undefined) return;
    expect(await buildPage(), 'the page is built').toBe(true);
    browser = await chromium.launch({ executablePath, args });
  });
  beforeEach((context) => {
    if (!browser) context.skip('there is no Chromium here (Debian: apt-get install chromium)');
  });
  afterEach(async ({ task }) => {
    await Promise.all(
      pages.map((page, n) => keepPicture(page, pictureName([basename(task.file.name, '.test.ts'), task.name, n]))),
    );
    await Promise.all(pages.map((page) => page.context().close()));
    const seen = faults;
    pages = [];
    faults = [];
    expect(seen).toEqual([]);
  });
  afterAll(() => browser?.close());
  return {
    async open(url, path, { issuer, ...options } = {}) {
      if (!browser) throw new TypeError('the browser has not been started');
      const context = await browser.newContext({
        viewport: { width: 1_280, height: 900 },
        locale: 'en-US',
        ...options,
      });
      context.setDefaultTimeout(30_000);
      const page = await context.newPage();
      if (pageSlowness > 1) await slowDown(page);
      pages.push(page);
      watch(page, [url, ...(issuer === undefined ? [] : [issuer])], (fault) => faults.push(fault));
      await page.goto(`${url}${path}${issuer === undefined ? `#key=${key}` : ''}`);
      await page.locator('h1').first().waitFor();
      return page;
    },
  };
}

export type PageUnderTest = { api: PlayedApi; open(path: string, options?: BrowserContextOptions): Promise<Page> };

/** Chromium and a played API for the tests of a file. */
export function usePage(): PageUnderTest {
  const browser = useBrowser();
  let api: PlayedApi | undefined;
  const started = () => {
    if (!api) throw new TypeError('the API has not been started');
    return api;
  };
  beforeAll(async () => {
    api = await startPlayedApi();
  });
  afterAll(() => api?.stop());
  return {
    get api() {
      return started();
    },
    open: (path, options) => browser.open(started().url, path, options),
  };
}

/** An artifact of the run, for people to look at; a tab that can't be drawn any more leaves none. */
async function keepPicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(picturesFolder, name), timeout: 10_000 }).catch(() => undefined);
}

function pictureName(parts: readonly (string | number)[]): string {
  return `${parts
    .join(' ')
    .replaceAll(/[^\p{L}\d]+/gu, '-')
    .slice(0, 150)}.png`;
}

async function slowDown(page: Page): Promise<void> {
  const client = await page.context().newCDPSession(page);
  await client.send('Emulation.setCPUThrottlingRate', { rate: pageSlowness });
  await page.route('**/v1/**', async (route) => {
    const delayMs = Math.random() * 100 * pageSlowness;
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await route.continue().catch(() => undefined);
  });
}

function watch(page: Page, allowed: readonly string[], onFault: (fault: string) => void): void {
  page.on('pageerror', (error) => onFault(`error on the page: ${error.message}`));
  page.on('dialog', (dialog) => {
    onFault(`a dialog opened: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    const isAllowed = [...allowed, `blob:${allowed[0]}/`].some((start) => request.url().startsWith(start));
    if (!isAllowed) onFault(`asked for ${request.url()}`);
  });
  page.on('console', (message) => {
    if (/content security policy|react/i.test(message.text()) && message.type() === 'error') onFault(message.text());
  });
}
