/** The page on the real services, behind the front door, in a real Chromium: a person decides, and what was shown is done. */
import { chromium, type Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { findChromium, freePort, openFrontDoor, type FrontDoor } from '@pawl/devstack';
import type { Conversation } from '@pawl/sim';
import { useTestServers } from '@pawl/testkit';
import { buildPage } from '@pawl/trace-store/build-page';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
let browser: Browser | undefined;
let tools: ToolServer;
let stack: Stack;
let door: FrontDoor;

const refund = (order: string, amount: number) => ({ tool: 'refund', args: { order, amount } });
const clerk = ({ turn }: Conversation) =>
  turn === 0
    ? { calls: [refund('a', 100), refund('b', 200), refund('c', 300)] }
    : { answer: 'Two of three were paid back.' };

beforeAll(async () => {
  const executablePath = await findChromium();
  if (executablePath === undefined) return;
  if (!(await buildPage())) throw new Error('the page could not be built');
  browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--no-first-run'] });
  tools = await startToolServer();
  stack = await startStack({ servers, models: { clerk: { respond: clerk } } });
  door = await openFrontDoor(stack.urls, { port: await freePort(), command: 'npm test' });
  await stack.api.putTool('refund', { effect: 'write', http: { method: 'POST', url: `${tools.url}/done` } });
  await stack.api.putAgent('clerk', { tools: ['refund'], approvals: [{ tool: 'refund' }] });
});
beforeEach((context) => {
  if (!browser) context.skip('there is no Chromium here (Debian: apt-get install chromium)');
});
afterAll(async () => {
  await browser?.close();
  await door?.stop();
  await stack?.stop();
  await tools?.stop();
});

function browserOfTests(): Browser {
  if (!browser) throw new TypeError('the browser has not been started');
  return browser;
}

test('one call is approved, one changed, one denied; the run goes on before the eyes of who decided', async () => {
  const { body: run } = await stack.api.startRun({ agent: 'clerk', input: 'Pay back what is owed.' });
  const page = await browserOfTests().newPage({ locale: 'en-US' });
  page.setDefaultTimeout(15_000);
  await page.goto(`${door.url}/approvals#key=${stack.api.key}`);
  await page.getByRole('link', { name: 'Open the run' }).click();
  const pending = (order: string) => page.locator('.pending').filter({ has: page.getByText(order, { exact: true }) });

  await pending('a').getByRole('button', { name: 'Approve' }).click();
  await pending('a').waitFor({ state: 'detached' });
  await pending('b').getByRole('button', { name: 'Change the arguments' }).click();
  await pending('b').getByLabel('Arguments (JSON)').fill('{"order": "b", "amount": 9007199254740993}');
  await pending('b').getByRole('button', { name: 'Approve with these arguments' }).click();
  await pending('b').waitFor({ state: 'detached' });
  await pending('c').getByRole('button', { name: 'Deny' }).click();
  await pending('c').getByLabel('Why not? The agent is told.').fill('Not ours to pay.');
  await pending('c').getByRole('button', { name: 'Deny' }).click();

  await page.getByRole('heading', { name: 'Analysis Conclusion' }).waitFor();
  expect(
    tools.calls.map(({ body }) => body).toSorted((one, two) => (String(one['order']) < String(two['order']) ? -1 : 1)),
  ).toEqual([
    { order: 'a', amount: 100 },
    { order: 'b', amount: Number('9007199254740993') },
  ]);
  // No number is rounded on its way.
  await page.getByText('9,007,199,254,740,993').first().waitFor();
  await page.getByRole('link', { name: 'Explanation' }).click();
  await page.getByText('Not ours to pay.').first().waitFor();
  expect((await stack.api.getRun(run.id)).body).toMatchObject({
    status: 'ended',
    answer: 'Two of three were paid back.',
  });
});
