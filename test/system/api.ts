/** Pawl's HTTP as tests call it: plain `fetch`, so that what is tested is the wire. */
import type { AgentSpec, RunView, ToolSpec } from '@pawl/contracts';
import { eventually } from '@pawl/testkit';

export type Urls = { orchestrator: string; toolRunner: string; llmGateway: string; traceStore: string };
export type Answer<T = unknown> = { status: number; body: T; headers: Headers };

export const adminKey = 'admin-key-of-the-test';

export type Api = ReturnType<typeof createApi>;

const freePrice = { currency: 'USD', inputPerMillion: '1.00', outputPerMillion: '4.00' };

export function createApi(of: { urls: Urls; key: string }) {
  // oxlint-disable-next-line no-unnecessary-type-parameters -- the shape of an answer over the wire is a claim, checked by the test
  const send = async <T>(method: string, url: string, { body, headers = {} }: Sent = {}) => {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${of.key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
    return { status: response.status, body: (isJson ? JSON.parse(text) : text) as T, headers: response.headers };
  };
  const put = async (service: keyof Urls, path: string, object: { kind: string; name: string; spec: object }) => {
    const { kind, name, spec } = object;
    const body = { apiVersion: 'pawl.dev/v1', kind, metadata: { app: 'demo', name }, spec };
    const answer = await send('PUT', `${of.urls[service]}/v1/${path}/${name}`, { body });
    if (answer.status !== 200) throw new Error(`PUT ${kind} ${name}: ${JSON.stringify(answer.body)}`);
  };
  return {
    key: of.key,
    send,
    putAgent: (name: string, spec: Partial<AgentSpec>) =>
      put('orchestrator', 'agents', {
        kind: 'Agent',
        name,
        spec: {
          instructions: 'Answer the question.',
          models: { think: 'smart', conclude: 'smart' },
          reflection: { every: 1_000 },
          compression: { every: 1_000 },
          ...spec,
        },
      }),
    putTool: (name: string, spec: Partial<ToolSpec>) =>
      put('toolRunner', 'tools', { kind: 'Tool', name, spec: { description: `The tool ${name}.`, ...spec } }),
    putRoute: (name: string, candidate: { model: string; baseUrl: string; price?: object; dataClasses?: string[] }) =>
      put('llmGateway', 'routes', {
        kind: 'ModelRoute',
        name,
        spec: { candidates: [{ provider: 'sim', price: freePrice, apiKey: 'none', ...candidate }] },
      }),
    putBudget: (name: string, spec: object) => put('llmGateway', 'budgets', { kind: 'Budget', name, spec }),
    ...runsApi(send, of.urls.orchestrator),
    /** The whole event stream of a run that has ended, as text. */
    events: (id: string) => send<string>('GET', `${of.urls.orchestrator}/v1/runs/${id}/events`),
    getTrace: (id: string) =>
      send<{ run: object; records: Record<string, unknown>[] }>('GET', `${of.urls.traceStore}/v1/traces/${id}`),
  };
}

type Sent = { body?: unknown; headers?: Record<string, string> | undefined };
type Send = <T>(method: string, url: string, sent?: Sent) => Promise<Answer<T>>;

function runsApi(send: Send, url: string) {
  const say = (id: string, word: string, body: object) =>
    send<RunView>('POST', `${url}/v1/runs/${id}/${word}`, { body });
  const getRun = (id: string, waitSeconds = 0) => send<RunView>('GET', `${url}/v1/runs/${id}?wait=${waitSeconds}`);
  return {
    getRun,
    startRun: (body: object, headers?: Record<string, string>) =>
      send<RunView>('POST', `${url}/v1/runs`, { body, headers }),
    run: (body: object, waitSeconds = 30) => send<RunView>('POST', `${url}/v1/runs?wait=${waitSeconds}`, { body }),
    cancel: (id: string, body: object = {}) => say(id, 'cancel', body),
    signal: (id: string, body: object) => say(id, 'signals', body),
    resume: (id: string, limits: object = {}) => say(id, 'resume', { limits }),
    fork: (id: string, body: object) => say(id, 'fork', body),
    /** Decides on a call with the hash of the arguments that are shown for it. */
    decide: (id: string, call: { callId: string; argsHash: string }, body: object) =>
      say(id, `approvals/${call.callId}`, { argsHash: call.argsHash, ...body }),
    /** The run as soon as it is in one of these states, `waiting` with nothing else under way. */
    getRunWhen: (id: string, ...statuses: RunView['status'][]) =>
      eventually(
        async () => {
          const { body } = await getRun(id);
          const isOnlyWaiting = body.status !== 'waiting' || body.phase === 'waiting';
          return statuses.includes(body.status) && isOnlyWaiting && body;
        },
        { withinMs: 30_000, what: `run ${id} is ${statuses.join(' or ')}` },
      ),
  };
}

/** A key of an app that may do everything. */
export async function createKey(gatewayUrl: string, app = 'demo'): Promise<string> {
  const response = await fetch(`${gatewayUrl}/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ app, scopes: ['*'] }),
  });
  if (!response.ok) throw new Error(`POST /v1/keys: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { key: string }).key;
}
