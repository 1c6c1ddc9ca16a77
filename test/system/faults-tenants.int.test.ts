/** R21: another app's ids work nowhere, and nothing in the answer betrays whether there is something behind them. */
import { Readable } from 'node:stream';
import { connectBus, putResult } from '@pawl/bus';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, startAuthorizationServer, useTestServers, type AuthorizationServer } from '@pawl/testkit';
import { createApi, createKey, type Api, type Urls } from './api.ts';
import { startStack, type Stack } from './stack.ts';

const servers = useTestServers();
let stack: Stack;
let issuer: AuthorizationServer;
const strangers: Partial<Record<'key' | 'token', Api>> = {};
const known: Record<string, string> = {};
const none = { id: `run_${'f'.repeat(32)}`, name: 'nothing', callId: 'call_7_7', m: '0', i: '0', part: 'text' };

beforeAll(async () => {
  const scope = 'runs:read runs:write runs:act-as chat registry budgets traces traces:explain traces:operate';
  const others = { scope, claims: { pawl_app: 'other' } };
  issuer = await startAuthorizationServer({ audience: 'pawl', programs: { others } });
  stack = await startStack({
    servers,
    environment: { PAWL_OIDC_ISSUER: issuer.issuer },
    models: { scripted: { respond: ({ turn }) => (turn === 0 ? { calls: [{ tool: 'send' }] } : { answer: 'Done.' }) } },
  });
  const { api } = stack;
  await api.putTool('send', { effect: 'write', http: { method: 'POST', url: 'http://127.0.0.1:9/' } });
  await api.putAgent('private', { tools: ['send'], approvals: [{ tool: 'send' }] });
  await api.putBudget('private', { scope: { app: 'demo' }, limit: { calls: 100 }, window: 'day' });
  await api.putRoute('private', { model: 'scripted', baseUrl: 'http://127.0.0.1:9/v1' });
  const { body } = await api.startRun({ agent: 'private', input: 'go', session: 'private' });
  const { pending } = await api.getRunWhen(body.id, 'waiting');
  Object.assign(known, { id: body.id, callId: pending[0]?.callId, argsHash: pending[0]?.argsHash });
  await eventually(async () => (await api.getTrace(body.id)).status === 200);
  await keepResult(body.id);
  const { urls } = stack;
  strangers.key = createApi({ urls, key: await createKey(urls.llmGateway, 'other') });
  strangers.token = createApi({ urls, key: await issuer.tokenOf('others') });
});
afterAll(async () => {
  await stack?.stop();
  await issuer?.stop();
});

/** A long result and a part of it, as calls leave them. */
async function keepResult(runId: string): Promise<void> {
  const bus = await connectBus({ url: servers.natsUrl, name: 'test' });
  for (const ref of [`demo/${runId}/0/0`, `demo/${runId}/0/0/text`]) {
    await putResult(bus, { ref }, Readable.from([Buffer.from('a long result')]));
  }
  await bus.close();
}

function strangerWith(credential: 'key' | 'token'): Api {
  const stranger = strangers[credential];
  if (!stranger) throw new TypeError(`there is no stranger with a ${credential}`);
  return stranger;
}

const services = ['orchestrator', 'toolRunner', 'llmGateway', 'traceStore'] satisfies (keyof Urls)[];
const cases = services.flatMap((service) => [[service, 'key'] as const, [service, 'token'] as const]);

type OpenApi = { paths: Record<string, Record<string, unknown>> };

/** Every operation on one thing that a service says it has, with the name of the parameter. */
async function operationsOf(url: string): Promise<{ method: string; path: string }[]> {
  const { body } = await strangerWith('key').send<OpenApi>('GET', `${url}/openapi.json`);
  return Object.entries(body.paths)
    .filter(([path]) => path.includes('{'))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })));
}

/** A body that is fine, so that only the id can be what is wrong. */
function bodyFor(path: string): object | undefined {
  const bodies: Record<string, object> = {
    cancel: {},
    resume: {},
    signals: { text: 'hello' },
    fork: { fromStep: 1 },
    '{callId}': { decision: 'approve', argsHash: known['argsHash'] },
    call: { args: {} },
  };
  return bodies[path.split('/').at(-1) ?? ''];
}

const isOfRun = (path: string) => /^\/v1\/(runs|traces|tools\/results)\//.test(path);

describe("R21 another tenant's ids work", () => {
  // `authorizeApp` names the app, and every look-up takes it: `store.find(app, id)` in run-store.ts, `live?.started.app`
  // in read-run.ts, the traces' and budgets' queries. An endpoint that is added is tried here by itself.
  it.each(cases)(
    '%s answers for what another app has as for what nobody has, to a %s of the other',
    async (service, credential) => {
      const stranger = strangerWith(credential);
      const url = stack.urls[service];
      const operations = (await operationsOf(url)).filter(({ method }) => method !== 'PUT');
      expect(operations.length).toBeGreaterThan(0);
      for (const { method, path } of operations) {
        const theirs: Record<string, string> = isOfRun(path)
          ? { ...none, id: known['id'] ?? '', runId: known['id'] ?? '', callId: known['callId'] ?? '' }
          : { name: path.includes('/tools/') ? 'send' : 'private' };
        const nobodys: Record<string, string> = { ...none, runId: none.id };
        const ask = (names: Record<string, string>) => {
          const target = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => names[name] ?? 'x');
          const body = method === 'GET' || method === 'DELETE' ? undefined : (bodyFor(path) ?? {});
          return stranger.send(method, `${url}${target}`, { body });
        };
        const [foreign, unknown] = [await ask(theirs), await ask(nobodys)];
        const told = JSON.stringify(foreign.body);
        const neutral = Object.entries(theirs).reduce(
          (text, [key, id]) => text.replaceAll(id, nobodys[key] ?? ''),
          told,
        );
        expect.soft(neutral, `${method} ${path}`).toBe(JSON.stringify(unknown.body));
        const isForAdmins = path.startsWith('/v1/keys');
        expect.soft(foreign.status, `${method} ${path}`).toBe(isForAdmins ? 403 : 404);
      }
    },
  );

  it('leaves what was meant as it was', async () => {
    const { body } = await stack.api.getRun(known['id'] ?? '');
    expect(body).toMatchObject({ status: 'waiting', pending: [{ callId: known['callId'] }] });
    for (const path of ['/v1/agents/private', '/v1/budgets/private/state', '/v1/routes/private']) {
      const service = path.startsWith('/v1/agents') ? stack.urls.orchestrator : stack.urls.llmGateway;
      expect((await stack.api.send('GET', `${service}${path}`)).status, path).toBe(200);
    }
    expect((await stack.api.send('GET', `${stack.urls.toolRunner}/v1/tools/send`)).status).toBe(200);
    expect((await stack.api.getTrace(known['id'] ?? '')).status).toBe(200);
    const results = `${stack.urls.toolRunner}/v1/tools/results/${known['id']}/0/0`;
    for (const url of [results, `${results}/text`]) expect((await stack.api.send('GET', url)).status, url).toBe(200);
  });

  it.each(['key', 'token'] as const)("shows nothing of another app's in lists to a %s", async (credential) => {
    const stranger = strangerWith(credential);
    const lists = [
      `${stack.urls.orchestrator}/v1/runs`,
      `${stack.urls.orchestrator}/v1/agents`,
      `${stack.urls.toolRunner}/v1/tools`,
      `${stack.urls.llmGateway}/v1/routes`,
      `${stack.urls.llmGateway}/v1/budgets`,
      `${stack.urls.traceStore}/v1/traces`,
    ];
    for (const url of lists) {
      const { status, body } = await stranger.send<{ items: unknown[] }>('GET', url);
      expect({ url, status, items: body.items }).toEqual({ url, status: 200, items: [] });
    }
  });
});
