/** The page on the real trace-store: what it draws comes out of NATS and Postgres. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBus, connectKeys, publishFact, type Bus, type Keys } from '@pawl/bus';
import { sha256 } from '@pawl/contracts';
import { migrate } from '@pawl/db';
import { createLog, startParts, stopParts } from '@pawl/service';
import { newTraceContext } from '@pawl/telemetry';
import { useTestServers } from '@pawl/testkit';
import { loadConfig } from '../../src/config.ts';
import { schema } from '../../src/schema.ts';
import { createTraceStore, type TraceStore } from '../../src/service.ts';
import { runIdAt, salesRunFacts } from '../../src/testing/sales-run.ts';
import { useBrowser } from '../testing/browser.ts';
import { key } from '../testing/played-api.ts';

const servers = useTestServers();
const browser = useBrowser();
let store: TraceStore;
let bus: Bus;
let keys: Keys;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  const environment = {
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_PORT: '0',
    PAWL_HOST: '127.0.0.1',
    PAWL_ADMIN_KEY: 'admin-key',
  };
  store = await createTraceStore(loadConfig(environment), createLog('trace-store', 'silent'));
  await startParts(store.parts);
  bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  keys = await connectKeys(bus);
  await keys.put(sha256(key), { id: 'demo', app: 'demo', scopes: ['traces'], expiresAt: null });
});
afterAll(async () => {
  keys?.close();
  await bus?.close();
  if (store) await stopParts(store.parts);
});

test('a run appears in the list by itself and opens as cards, although the key may not read runs', async () => {
  const tab = await browser.open(store.url(), '/runs');
  await tab.getByRole('heading', { name: 'No runs yet' }).waitFor();
  const startedAt = new Date().toISOString();
  const runId = runIdAt(startedAt, 'real');
  const facts = salesRunFacts({ runId, startedAt });
  for (const fact of facts.slice(0, 5)) await publishFact(bus, fact, newTraceContext());
  await tab.getByRole('link', { name: /Why did sales revenue/ }).click();
  await tab.getByRole('heading', { name: 'Step 2' }).waitFor();
  await tab.getByText('Going on…').waitFor();
  for (const fact of facts.slice(5)) await publishFact(bus, fact, newTraceContext());
  await tab.getByRole('heading', { name: 'Analysis Conclusion' }).waitFor();
  await expect.poll(() => tab.locator('.card.operation').count()).toBe(6);
  await tab.getByRole('link', { name: 'Waterfall' }).click();
  await expect.poll(() => tab.locator('.span-row').count()).toBe(11);
});
