/** Signing in to the page of the real trace-store through a real authorization server. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAuthorizationServer, useTestServers, type AuthorizationServer } from '@pawl/testkit';
import { startStore, type StartedStore } from '../../src/testing/start-store.ts';
import { runIdAt, salesRunFacts } from '../../src/testing/sales-run.ts';
import { useBrowser } from '../testing/browser.ts';
import { startPlayedApi } from '../testing/played-api.ts';

const servers = useTestServers();
const browser = useBrowser();
const startedAt = new Date().toISOString();
const runId = runIdAt(startedAt, 'signed in');
let issuer: AuthorizationServer;
let store: StartedStore;

beforeAll(async () => {
  issuer = await startAuthorizationServer({
    audience: 'pawl',
    people: {
      ana: { claims: { pawl_app: 'demo', roles: ['pawl-viewer'] } },
      eli: { claims: { pawl_app: 'demo', roles: ['pawl-explainer'] } },
      oto: { claims: { pawl_app: ['demo', 'desk', 'no-such-app'], roles: ['pawl-viewer'] } },
    },
  });
  store = await startStore(servers, { PAWL_OIDC_ISSUER: issuer.issuer, PAWL_OIDC_CLIENT_ID: 'page' });
  issuer.registerPublicClient({ id: 'page', redirectUri: `${store.url}/runs` });
  await store.putKey('demo');
  await store.putKey('desk');
  await store.publish(salesRunFacts({ runId, startedAt }));
});
afterAll(async () => {
  await store?.stop();
  await issuer?.stop();
});

const openPage = (path = '/runs') => browser.open(store.url, path, { issuer: issuer.issuer });

async function signIn(tab: Page, name: string): Promise<void> {
  await tab.getByRole('button', { name: 'Sign in' }).click();
  await tab.getByLabel('Name').fill(name);
  await tab.getByRole('button', { name: 'Go on' }).click();
  await tab.getByRole('button', { name: 'Sign out' }).waitFor();
}

const tokenRequests = () => issuer.asked.filter((path) => path === '/token').length;

test('who signs in comes back to where they were, and sees the runs of the app of their token', async () => {
  const tab = await openPage(`/runs/${runId}?lens=waterfall`);
  await signIn(tab, 'ana');
  await tab.getByText('Why did sales revenue').first().waitFor();
  await expect.poll(() => tab.url()).toBe(`${store.url}/runs/${runId}?lens=waterfall`);
  await expect.poll(() => tab.evaluate(() => Object.keys(sessionStorage))).toEqual(['pawl.session']);
  await tab.goto(`${store.url}/runs/${runId}`);
  await expect.poll(() => tab.getByText('nothing about the figures yet').count()).toBeGreaterThan(0);
  const reads = await store.database.query<{ key_id: string }>('select distinct key_id from traces.reads');
  expect(reads.map((read) => read.key_id)).toContain('user:ana');
});

test('who explains runs signs in, too, and gets no thoughts', async () => {
  const tab = await openPage(`/runs/${runId}`);
  await signIn(tab, 'eli');
  await tab.getByRole('heading', { name: 'How it got there' }).waitFor();
  await tab.getByText('Completed sales revenue fell').first().waitFor();
  await tab.getByRole('link', { name: 'Cards' }).click();
  await expect.poll(() => tab.getByText('Thoughts are not shown with this key.').count()).toBe(4);
  await expect.poll(() => tab.getByText('nothing about the figures yet').count()).toBe(0);
});

test('who has several apps chooses one, and may change to another', async () => {
  const tab = await openPage('/runs');
  await signIn(tab, 'oto');
  await tab.getByRole('heading', { name: 'Which app?' }).waitFor();
  await expect.poll(() => tab.locator('main button').allInnerTexts()).toEqual(['demo', 'desk']);
  await tab.getByRole('button', { name: 'desk' }).click();
  await tab.getByRole('heading', { name: 'No runs yet' }).waitFor();
  await tab.getByLabel('App', { exact: true }).selectOption('demo');
  await tab.getByRole('link', { name: /Why did sales revenue/ }).waitFor();
  await tab.reload();
  await tab.getByRole('link', { name: /Why did sales revenue/ }).waitFor();
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.getByRole('button', { name: /Yes/ }).click();
  await expect.poll(() => tab.evaluate(() => Object.keys(sessionStorage))).toEqual([]);
});

test('a token that is about to end is renewed, once for all that want it', async () => {
  const tab = await openPage();
  await signIn(tab, 'ana');
  await tab.getByRole('link', { name: /Why did sales revenue/ }).waitFor();
  const before = tokenRequests();
  await tab.clock.setSystemTime(Date.now() + 280_000);
  await tab.getByRole('link', { name: /Why did sales revenue/ }).click();
  await tab.getByRole('heading', { name: 'Step 2' }).waitFor();
  await expect.poll(() => tokenRequests() - before).toBe(1);
  await tab.getByRole('button', { name: 'Sign out' }).waitFor();
});

test('a token that is no longer taken asks to sign in again', async () => {
  const tab = await openPage();
  await signIn(tab, 'ana');
  await tab.route('**/v1/**', async (route) => {
    const { authorization = '', ...headers } = route.request().headers();
    await route.continue({ headers: { ...headers, authorization: `${authorization.slice(0, -10)}AAAAAAAAAA` } });
  });
  await tab.getByRole('link', { name: 'Sessions' }).click();
  await tab.getByText('You were signed out. Sign in again.').waitFor();
  await expect.poll(() => tab.evaluate(() => Object.keys(sessionStorage))).toEqual([]);
  await tab.getByRole('button', { name: 'Sign in' }).waitFor();
});

test('signing out forgets the tokens here and ends the session at the issuer', async () => {
  const tab = await openPage();
  await signIn(tab, 'ana');
  await tab.getByRole('button', { name: 'Sign out' }).click();
  await tab.getByRole('button', { name: /Yes/ }).click();
  await tab.getByRole('button', { name: 'Sign in' }).waitFor();
  await expect.poll(() => tab.evaluate(() => Object.keys(sessionStorage))).toEqual([]);
  await tab.getByRole('button', { name: 'Sign in' }).click();
  await tab.getByLabel('Name').waitFor();
});

test('a code that this tab did not ask for is not taken', async () => {
  const tab = await openPage();
  await tab.getByRole('button', { name: 'Sign in' }).click();
  await tab.getByLabel('Name').waitFor();
  const before = tokenRequests();
  await tab.goto(`${store.url}/runs?code=of-somebody-else&state=not-mine&iss=${encodeURIComponent(issuer.issuer)}`);
  await tab.getByText('Signing in came to nothing. Try again.').waitFor();
  expect(tokenRequests()).toBe(before);
  await expect.poll(() => tab.url()).toBe(`${store.url}/runs`);
});

test('a key opens the page as before, and an issuer that is down is in nobody else’s way', async () => {
  await issuer.stop();
  try {
    const tab = await openPage();
    await tab.getByLabel('Key of the app').fill('key-of-demo');
    await tab.getByRole('button', { name: 'Open' }).click();
    await tab.getByRole('button', { name: 'Forget the key' }).waitFor();
    await expect.poll(() => tab.getByRole('link', { name: /Why did sales revenue/ }).count()).toBe(1);
  } finally {
    await issuer.start();
  }
});

test('the page may connect to the issuer where one is named, and nowhere else otherwise', async () => {
  const policyOf = async (url: string) => (await fetch(`${url}/runs`)).headers.get('content-security-policy');
  expect(await policyOf(store.url)).toContain(`connect-src 'self' ${issuer.issuer};`);
  const api = await startPlayedApi();
  expect(await policyOf(api.url)).toContain("connect-src 'self';");
  await api.stop();
});
