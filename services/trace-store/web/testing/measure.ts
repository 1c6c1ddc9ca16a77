/** What tests measure in a tab: bytes over the wire, what stands in the document while it is scrolled, barriers that axe finds. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Counts bytes as they come over the wire from now on. */
export async function countBytes(tab: Page): Promise<{ sum(): number }> {
  let bytes = 0;
  const client = await tab.context().newCDPSession(tab);
  await client.send('Network.enable');
  await client.send('Network.setCacheDisabled', { cacheDisabled: true });
  await tab.goto('about:blank');
  client.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  return { sum: () => bytes };
}

/** Scrolls for so many frames, and tells how far it came and how many elements of the kind stood there at the most. */
export function scroll(tab: Page, { frames, counted }: { frames: number; counted: string }) {
  return tab.evaluate(
    async (given) => {
      let drawnMax = 0;
      for (let frame = 0; frame < given.frames; frame++) {
        window.scrollBy(0, 600);
        await new Promise(requestAnimationFrame);
        drawnMax = Math.max(drawnMax, document.querySelectorAll(given.counted).length);
      }
      return { moved: window.scrollY, drawnMax };
    },
    { frames, counted },
  );
}

/** Barriers for a reader who can't see the page. The tab has to be opened with `bypassCSP`. */
export async function findBarriers(tab: Page): Promise<string[]> {
  await tab.evaluate(axe);
  return tab.evaluate(async () => {
    type Axe = { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    const { axe: tool } = window as unknown as { axe: Axe };
    return (await tool.run()).violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
  });
}
