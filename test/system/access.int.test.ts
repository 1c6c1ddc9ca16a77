/** Tokens of a real authorization server on all four services: who may do what, and for whom a run is. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, startAuthorizationServer, useTestServers, type AuthorizationServer } from '@pawl/testkit';
import { createApi, type Api } from './api.ts';
import { startStack, type Stack } from './stack.ts';

const servers = useTestServers();
let issuer: AuthorizationServer;
let stack: Stack;

const people = ['viewer', 'explainer', 'operator'] as const;
const everything = 'runs:read runs:write chat registry budgets traces';
const programs = {
  ...Object.fromEntries(people.map((role) => [role, { claims: { pawl_app: 'demo', roles: [`pawl-${role}`] } }])),
  clerk: { scope: everything, claims: { pawl_app: 'demo', roles: ['support'] } },
  guest: { scope: everything, claims: { pawl_app: 'demo' } },
  proxy: { scope: `${everything} runs:act-as`, claims: { pawl_app: 'demo' } },
  stranger: { claims: { pawl_app: 'demo' } },
};
type Program = (typeof people)[number] | 'clerk' | 'guest' | 'proxy' | 'stranger';
const apis = new Map<string, Api>();

/** Who speaks with a token of that name. */
function as(program: Program): Api {
  const api = apis.get(program);
  if (!api) throw new TypeError(`nobody is called ${program}`);
  return api;
}

beforeAll(async () => {
  issuer = await startAuthorizationServer({ audience: 'pawl', programs });
  stack = await startStack({
    servers,
    environment: { PAWL_OIDC_ISSUER: issuer.issuer },
    models: {
      scripted: {
        respond: ({ turn }) =>
          turn === 0 ? { say: 'A secret thought.', calls: [{ tool: 'send' }] } : { answer: 'It was sent.' },
      },
    },
  });
  for (const name of Object.keys(programs)) {
    apis.set(name, createApi({ urls: stack.urls, key: await issuer.tokenOf(name) }));
  }
  const { api } = stack;
  await api.putTool('send', { roles: ['support'], builtin: { name: 'current_time' } });
  await api.putAgent('sender', { tools: ['send'] });
  await api.putAgent('careful', { tools: ['send'], approvals: [{ tool: 'send' }] });
  await eventually(async () => (await api.send('GET', `${stack.urls.orchestrator}/v1/agents/careful`)).status === 200);
});
afterAll(async () => {
  await stack?.stop();
  await issuer?.stop();
});

async function startWaiting(): Promise<{ id: string; call: { callId: string; argsHash: string } }> {
  const { body } = await as('clerk').startRun({ agent: 'careful', input: 'send it' });
  const [call] = (await as('clerk').getRunWhen(body.id, 'waiting')).pending;
  await eventually(async () => (await stack.api.getTrace(body.id)).body.records?.length >= 3);
  return { id: body.id, call: { callId: call?.callId ?? '', argsHash: call?.argsHash ?? '' } };
}

type Description = { paths: Record<string, Record<string, object>> };

it.for(['orchestrator', 'toolRunner', 'llmGateway', 'traceStore'] as const)(
  'whatever %s is sent, who may not is told so first, and who is unknown before that',
  async (service) => {
    const url = stack.urls[service];
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Description;
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{.*?\}/g, 'x') })),
    );
    expect(routes.length).toBeGreaterThan(5);
    const answer = async (route: { method: string; path: string }, key: string) => {
      const body = ['POST', 'PUT'].includes(route.method) ? { body: '{"name":' } : {};
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const response = await fetch(`${url}${route.path}?limit=x`, { method: route.method, headers, ...body });
      return `${route.method} ${route.path} ${response.status}`;
    };
    const stranger = await issuer.tokenOf('stranger');
    for (const route of routes) {
      expect(await answer(route, stranger)).toBe(`${route.method} ${route.path} 403`);
      expect(await answer(route, 'nobody')).toBe(`${route.method} ${route.path} 401`);
    }
  },
);

describe('roles', () => {
  it('a viewer sees everything and does nothing', async () => {
    const { id, call } = await startWaiting();
    const viewer = as('viewer');
    expect((await viewer.getRun(id)).status).toBe(200);
    expect(JSON.stringify((await viewer.getTrace(id)).body)).toContain('A secret thought.');
    expect((await viewer.send('GET', `${stack.urls.llmGateway}/v1/budgets`)).status).toBe(403);
    expect((await viewer.send('GET', `${stack.urls.llmGateway}/v1/spend`)).status).toBe(200);
    const acts = [
      viewer.startRun({ agent: 'careful', input: 'x' }),
      viewer.cancel(id),
      viewer.signal(id, { text: 'x' }),
      viewer.resume(id),
      viewer.fork(id, { fromStep: 1 }),
      viewer.decide(id, call, { decision: 'approve' }),
      viewer.send('PUT', `${stack.urls.orchestrator}/v1/agents/careful`, { body: {} }),
      viewer.send('POST', `${stack.urls.toolRunner}/v1/tools/send/call`, { body: { args: {} } }),
      viewer.send('GET', `${stack.urls.llmGateway}/v1/models`),
      viewer.send('POST', `${stack.urls.llmGateway}/v1/keys`, { body: { app: 'demo' } }),
      viewer.send('POST', `${stack.urls.traceStore}/v1/traces/erasures`, { body: { user: 'clerk' } }),
    ];
    expect((await Promise.all(acts)).map(({ status }) => status)).toEqual(acts.map(() => 403));
    expect((await stack.api.getRun(id)).body.status).toBe('waiting');
  });

  it('who explains gets what was done and no thoughts, and nothing from where thoughts are', async () => {
    const { id } = await startWaiting();
    const explainer = as('explainer');
    const { status, body } = await explainer.getTrace(id);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toContain('send it');
    expect(JSON.stringify(body)).not.toContain('secret thought');
    const elsewhere = [explainer.getRun(id), explainer.events(id), explainer.cancel(id)];
    expect((await Promise.all(elsewhere)).map((answer) => answer.status)).toEqual([403, 403, 403]);
    const path = `${stack.urls.traceStore}/v1/traces/${id}/records/thought.0`;
    expect(JSON.stringify((await explainer.send('GET', path)).body)).not.toContain('secret thought');
  });

  it('an operator approves and cancels, under their own name', async () => {
    const [approved, cancelled] = [await startWaiting(), await startWaiting()];
    const operator = as('operator');
    expect((await operator.decide(approved.id, approved.call, { decision: 'approve' })).status).toBe(200);
    expect((await operator.cancel(cancelled.id)).status).toBe(202);
    expect((await operator.getRunWhen(approved.id, 'ended')).stopReason).toBe('final_answer');
    expect((await operator.getRunWhen(cancelled.id, 'ended')).stopReason).toBe('cancelled');
    for (const { id } of [approved, cancelled]) {
      expect((await operator.events(id)).body).toContain('"by":"user operator"');
    }
    const holds = `${stack.urls.traceStore}/v1/traces/holds`;
    expect((await operator.send('GET', holds)).status).toBe(403);
  });
});

describe('the user of a run', () => {
  const sent = async (by: Program, user?: object) => {
    const { status, body } = await as(by).run({ agent: 'sender', input: 'send it', ...(user && { user }) });
    if (status !== 201) return { status, body };
    const events = (await as(by).events(body.id)).body;
    return { status, user: /"user":(\{[^}]*\})/.exec(events)?.[1], wasSent: events.includes('"status":"ok"') };
  };

  it('is the one of the token, with the roles of the token', async () => {
    expect(await sent('clerk')).toEqual({ status: 201, user: '{"id":"clerk","roles":["support"]}', wasSent: true });
    expect(await sent('guest')).toEqual({ status: 201, user: '{"id":"guest","roles":[]}', wasSent: false });
  });

  it('is nobody else without the scope runs:act-as, and takes no roles that the token lacks', async () => {
    expect(await sent('guest', { id: 'clerk' })).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect(await sent('guest', { id: 'guest', roles: ['support'] })).toMatchObject({ status: 403 });
    expect(await sent('guest', { id: 'guest' })).toMatchObject({ status: 201, user: '{"id":"guest","roles":[]}' });
    expect(await sent('proxy', { id: 'clerk', roles: ['support'] })).toMatchObject({ status: 201, wasSent: true });
  });

  it('is who forks: nobody gets the rights of the run that a fork comes from', async () => {
    const { body } = await as('clerk').run({ agent: 'sender', input: 'send it' });
    const fork = await as('guest').fork(body.id, { fromStep: 1, allowWrites: true });
    expect(fork.status).toBe(201);
    await as('guest').getRunWhen(fork.body.id, 'ended', 'paused');
    const { body: events } = await as('guest').events(fork.body.id);
    expect(events).toContain('"user":{"id":"guest","roles":[]}');
    expect(events).not.toContain('"status":"ok"');
  });
});

describe('the OpenAI-compatible API', () => {
  type Told = { error?: { message: string; type: string; code: string } };
  const chat = async (api: Api, headers?: Record<string, string>) => {
    const body = { model: 'smart', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 };
    return await api.send<Told>('POST', `${stack.urls.llmGateway}/v1/chat/completions`, { body, headers });
  };

  it('counts for the user of the token and lets it name no other', async () => {
    await stack.api.putBudget('guest', { scope: { app: 'demo', user: 'guest' }, limit: { calls: 1 }, window: 'day' });
    await eventually(async () => (await chat(as('guest'))).body.error?.code === 'budget_exceeded');
    expect((await chat(as('clerk'))).status).toBe(200);
    const other = { 'x-pawl-user': 'eve' };
    expect(await chat(as('clerk'), other)).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
    expect((await chat(as('proxy'), other)).status).toBe(200);
  });

  it.each([
    ['a token that was changed', (token: string) => `${token.slice(0, -20)}${'A'.repeat(20)}`, 'signature'],
    ['a token of nobody', () => 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbmEifQ.', 'issuer'],
  ])('refuses %s in the form that its clients read', async (_name, change, word) => {
    const { status, body } = await chat(createApi({ urls: stack.urls, key: change(as('guest').key) }));
    expect([status, body.error?.code]).toEqual([401, 'unauthorized']);
    expect(body.error?.message).toContain(word);
  });
});

it('tokens go on over all services while the issuer is down', async () => {
  await issuer.stop();
  try {
    const { orchestrator, toolRunner, llmGateway, traceStore } = stack.urls;
    const paths = [
      `${orchestrator}/v1/runs`,
      `${orchestrator}/v1/agents`,
      `${toolRunner}/v1/tools`,
      `${llmGateway}/v1/routes`,
      `${traceStore}/v1/traces`,
    ];
    for (const url of paths) expect([url, (await as('clerk').send('GET', url)).status]).toEqual([url, 200]);
  } finally {
    await issuer.start();
  }
});
