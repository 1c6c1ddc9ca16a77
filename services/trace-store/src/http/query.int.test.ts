/** The query API over HTTP, on real servers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fact } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { scanRowsMax } from '../store/read-runs.ts';
import { startStore, type StartedStore } from '../testing/start-store.ts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { csvCell } from './export-traces.ts';

const servers = useTestServers();
let store: StartedStore;
const hourMs = 3_600_000;
const dayStartMs = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 2 * 86_400_000;

beforeAll(async () => {
  store = await startStore(servers);
  await store.putKey('demo');
  await store.putKey('other');
  await store.putKey('tail');
  for (const key of ['key-of-demo', 'key-of-other', 'key-of-tail']) {
    await eventually(async () => (await store.ask('GET', '/v1/traces', { key })).status === 200);
  }
});
afterAll(() => store.stop());

type Started = Extract<Fact, { kind: 'started' }>;

const runsOf =
  (app: string) =>
  (seed: string, hour: number, change: (fact: Fact) => Fact = (fact) => fact): Fact[] => {
    const startedAt = new Date(dayStartMs + hour * hourMs).toISOString();
    return salesRunFacts({ app, runId: runIdAt(startedAt, seed), startedAt }).map(change);
  };
const [run, otherRun, tailRun] = [runsOf('demo'), runsOf('other'), runsOf('tail')];
const asked = (more: Partial<Started>) => (fact: Fact) => (fact.kind === 'started' ? { ...fact, ...more } : fact);
const idOf = (facts: readonly Fact[]) => facts[0]?.runId ?? '';

async function stored(facts: readonly Fact[]): Promise<string> {
  await store.publish(facts);
  await eventually(async () => (await store.countOf(idOf(facts))) === facts.length);
  return idOf(facts);
}

type Listed = { items: { id: string }[]; next: string | null };
async function listed(query: string, key = 'key-of-demo'): Promise<string[]> {
  const { status, json, text } = await store.ask('GET', `/v1/traces?${query}`, { key });
  expect(status, text).toBe(200);
  return (json() as unknown as Listed).items.map(({ id }) => id);
}

describe('the list', () => {
  test('filters by everything that a run has, alone and together', async () => {
    const plain = await stored(run('plain', 1));
    const ana = await stored(
      run('ana', 2, asked({ user: { id: 'ana' }, session: 's-1', input: 'Refund 100% of ORDER?' })),
    );
    const cheap = await stored(
      run('cheap', 3)
        .filter((fact) => !('m' in fact) || fact.m < 1)
        .slice(0, 2),
    );
    const parent = { runId: plain, m: 1, i: 0 };
    const child = await stored(
      run('child', 4, asked({ parent, ancestors: [{ runId: plain, spendLimitNanoUsd: '1' }] })),
    );
    const fork = await stored(run('fork', 5, asked({ forkOf: { runId: plain, fromStep: 2 }, seed: [] })));
    const at = (hour: number) => encodeURIComponent(new Date(dayStartMs + hour * hourMs).toISOString());
    const everything = [fork, child, cheap, ana, plain];
    const cases: [string, string[]][] = [
      ['', everything],
      ['user=ana', [ana]],
      ['session=s-1', [ana]],
      ['text=refund+100%25+of+order', [ana]],
      ['text=delivery+date', [fork, child, ana, plain]],
      ['tool=execute_sql', [fork, child, ana, plain]],
      ['tool=execute', []],
      ['status=running', [cheap]],
      ['stopReason=final_answer', [fork, child, ana, plain]],
      ['maxCost=0.005', [cheap]],
      ['minCost=0.005', [fork, child, ana, plain]],
      ['minDurationMs=3000&maxDurationMs=4000', [fork, child, ana, plain]],
      [`parent=${plain}`, [child]],
      [`forkOf=${plain}`, [fork]],
      [`from=${at(2)}&to=${at(4)}`, [cheap, ana]],
      [`agent=sales-analyst&tool=query_metric&from=${at(2)}&maxDurationMs=4000`, [fork, child, ana]],
      ['source=otlp', []],
    ];
    for (const [query, expected] of cases) expect([query, await listed(query)]).toEqual([query, expected]);
    expect(await listed('', 'key-of-other')).toEqual([]);
    const tree = (await store.ask('GET', `/v1/traces/${child}`)).json();
    expect(tree['run']?.['parent']).toEqual({ runId: plain, callId: 'call_1_0' });
  });

  test('T10: a page whose filters hardly anything fits looks at a bounded number of runs and says where to go on', async () => {
    await store.database.query('select traces.make_week($1, $2, $3, $4)', [
      'standard',
      'w1',
      'run_000000000001',
      'run_00004b3a0000',
    ]);
    await store.database.query(
      `insert into traces.runs (class, app, run_id, status, first_at, last_at, records, counted_steps, counted_tool_calls,
                                counted_tokens, counted_cost_nano_usd, question, agent, stop_reason)
       select 'standard', 'other', 'run_00000a' || lpad(to_hex(number), 26, '0'), 'ended', timestamptz 'epoch' + number * interval '1 s',
              'epoch', 1, 1, 1, 1, 1, case when number = 1 then 'the needle' else 'hay' end,
              'farmer', case when number = 1 then 'max_steps' else 'final_answer' end
       from generate_series(1, 25000) as number`,
    );
    for (const filter of [
      'text=needle',
      'agent=farmer&stopReason=max_steps',
      'status=ended&agent=farmer&text=needle',
    ]) {
      const seen: string[] = [];
      let pages = 0;
      for (let cursor: string | null = ''; cursor !== null; pages++) {
        const path: string = `/v1/traces?${filter}&limit=5${cursor && `&cursor=${cursor}`}`;
        const page = (await store.ask('GET', path, { key: 'key-of-other' })).json() as unknown as Listed;
        seen.push(...page.items.map(({ id }) => id));
        cursor = page.next;
      }
      expect(seen).toEqual([`run_00000a${'1'.padStart(26, '0')}`]);
      expect(pages).toBeLessThanOrEqual(Math.ceil(25_001 / scanRowsMax));
    }
  });

  test.each(['user=%00', 'minCost=-1', 'from=yesterday', 'maxDurationMs=x', 'parent=run_1', 'text='])(
    'refuses ?%s with a sentence',
    async (query) => {
      const { status, json } = await store.ask('GET', `/v1/traces?${query}`);
      expect([status, json()['code']]).toEqual([400, 'invalid_request']);
    },
  );
});

test('T8: a run that is silent for longer than it may live is running, and lost; one that may still live is not', async () => {
  const silent = await stored(tailRun('silent', 20).slice(0, 3));
  const startedAt = new Date(Date.now() - 60_000).toISOString();
  const living = await stored(
    salesRunFacts({ app: 'tail', runId: runIdAt(startedAt, 'living'), startedAt }).slice(0, 3),
  );
  const standing = async (runId: string) => {
    const { run: found } = (await store.ask('GET', `/v1/traces/${runId}`, { key: 'key-of-tail' })).json();
    return [found?.['status'], found?.['isLost']];
  };
  expect(await standing(silent)).toEqual(['running', true]);
  expect(await standing(living)).toEqual(['running', false]);
});

describe('figures by time', () => {
  test('T6: count money at the leaves, once in a tree of runs', async () => {
    const parent = otherRun('tree', 30, (fact) => {
      if (fact.kind === 'ended') return { ...fact, tokens: 2 * 9_381, costNanoUsd: '22122000' };
      return fact.kind === 'observed' && fact.m === 0
        ? { ...fact, spent: { tokens: 9_381, costNanoUsd: '11061000' } }
        : fact;
    });
    const parentId = await stored(parent);
    await stored(otherRun('leaf', 30, asked({ parent: { runId: parentId, m: 0, i: 0 } })));
    const whole = (await store.ask('GET', `/v1/traces/${parentId}`, { key: 'key-of-other' })).json();
    expect(whole['run']).toMatchObject({ tokens: 18_762, cost: { nanoUsd: '22122000' } });
    const from = new Date(dayStartMs + 24 * hourMs).toISOString();
    const { json } = await store.ask('GET', `/v1/traces/aggregates?from=${from}`, { key: 'key-of-other' });
    expect(json()['items']).toEqual([
      {
        at: from,
        runs: 2,
        ended: 2,
        tokens: 2 * 9_381,
        cost: { nanoUsd: '22122000', amount: '0.022122', currency: 'USD' },
        durationMs: { p50: 3_220, p95: 3_220 },
        stopReasons: { final_answer: 2 },
      },
    ]);
    expect(json()['tools']).toContainEqual({
      at: from,
      tool: 'execute_sql',
      calls: 2,
      failures: 2,
      denied: 0,
      failureRate: 1,
      durationMs: { p50: 12, p95: 12 },
    });
  });

  test.each(['from=2020-01-01T00:00:00Z', 'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'bucket=minute'])(
    'refuse ?%s',
    async (query) => {
      expect((await store.ask('GET', `/v1/traces/aggregates?${query}`)).status).toBe(400);
    },
  );
});

test('compares two runs of the app, and betrays nothing of another app', async () => {
  const a = await stored(run('left', 40));
  const b = await stored(
    run('right', 41, (fact) => (fact.kind === 'thought' && fact.m === 2 ? { ...fact, text: 'Other.' } : fact)),
  );
  const foreign = await stored(otherRun('foreign', 42));
  const { status, json } = await store.ask('GET', `/v1/traces/compare?a=${a}&b=${b}`);
  expect([status, json()['firstDifference']]).toEqual([200, 3]);
  expect(json()['steps']).toHaveLength(5);
  const refused = await store.ask('GET', `/v1/traces/compare?a=${a}&b=${foreign}`);
  expect([refused.status, refused.text]).toEqual([404, (await store.ask('GET', `/v1/traces/${foreign}`)).text]);
});

describe('the export', () => {
  test('gives runs with their records as JSON Lines, and runs as CSV', async () => {
    const id = await stored(run('export', 50, asked({ user: { id: 'exporter' }, input: '=cmd|"x"!A1\nnext line' })));
    const lines = (await store.ask('GET', '/v1/traces/export?user=exporter&records=true')).text.trimEnd().split('\n');
    const items = lines.map((line) => JSON.parse(line) as { type: string; id?: string; slot?: string });
    expect(items.map(({ type }) => type)).toEqual(['run', ...Array.from({ length: 17 }, () => 'record')]);
    expect([items[0]?.id, items[1]?.slot, items.at(-1)?.slot]).toEqual([id, 'started', 'ended']);
    const { text, headers } = await store.ask('GET', '/v1/traces/export?user=exporter&format=csv');
    expect(headers.get('content-type')).toContain('text/csv');
    expect(text.split('\r\n')[0]).toContain('id,app,agent,status');
    expect(text).toContain(`"'=cmd|""x""!A1\nnext line"`);
    expect((await store.ask('GET', '/v1/traces/export?format=csv&records=true')).status).toBe(400);
  });

  test('gives all pages of a large app', async () => {
    const { text } = await store.ask('GET', '/v1/traces/export?format=csv&status=ended', { key: 'key-of-other' });
    expect(text.trimEnd().split('\r\n').length).toBeGreaterThan(25_000);
  });

  test.each([
    ['+1', "'+1"],
    ['a,b', '"a,b"'],
    [null, ''],
    [-5, '-5'],
  ])('writes %s as %s', (value, cell) => expect(csvCell(value)).toBe(cell));
});

describe('watching', () => {
  type Event = { name: string; data: { slot?: string; id?: string; status?: string } };
  async function* eventsOf(path: string, headers: Record<string, string> = {}): AsyncGenerator<Event> {
    const response = await fetch(store.url + path, { headers: { authorization: 'Bearer key-of-tail', ...headers } });
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const parts = (text + chunk).split('\n\n');
      text = parts.pop() ?? '';
      for (const part of parts) {
        const name = /^event: (.*)$/m.exec(part)?.[1];
        if (name) yield { name, data: JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? 'null') };
      }
    }
  }

  test('a run from its start to its end, each record once, and again behind the last event', async () => {
    const facts = tailRun('tail', 60);
    await stored(facts.slice(0, 3));
    const slots: string[] = [];
    const statuses: (string | undefined)[] = [];
    for await (const { name, data } of eventsOf(`/v1/traces/${idOf(facts)}/live`)) {
      if (name === 'run') statuses.push(data.status);
      else slots.push(data.slot ?? '');
      if (slots.length === 3 && statuses.length === 1) await store.publish(facts.slice(3));
    }
    expect(new Set(slots).size).toBe(slots.length);
    expect(slots).toHaveLength(17);
    expect(statuses.at(-1)).toBe('ended');
    const again: string[] = [];
    const later = { 'last-event-id': String(Date.now() + 3_600_000) };
    for await (const { name } of eventsOf(`/v1/traces/${idOf(facts)}/live`, later)) again.push(name);
    expect(again).toEqual(['run']);
    const unknown = await store.ask('GET', `/v1/traces/${idOf(facts)}/live`, { key: 'key-of-demo' });
    expect(unknown.status).toBe(404);
  });

  beforeAll(() => stored(tailRun('open', 62).slice(0, 3)));

  test.each(['/v1/traces/live', `/v1/traces/${idOf(tailRun('open', 62))}/live`])(
    '%s ends soon after the key that opened it has lost its right',
    async (path) => {
      const key = `tail.watcher${path.length}`;
      await store.putKey(key);
      const headers = { authorization: `Bearer key-of-${key}` };
      await eventually(async () => (await store.ask('GET', '/v1/traces', { key: `key-of-${key}` })).status === 200);
      const response = await fetch(store.url + path, { headers });
      expect(response.status).toBe(200);
      await store.putKey(key, ['runs:read']);
      // To its end: a stream that goes on would never come there.
      await response.text();
      expect((await fetch(store.url + path, { headers })).status).toBe(403);
    },
  );

  test('the runs of an app, and of no other', async () => {
    const events = eventsOf('/v1/traces/live');
    const first = events.next();
    const mine = tailRun('mine', 61);
    const publishing = eventually(async () => {
      await store.publish(run('not mine', 61));
      await store.publish(mine);
      return await Promise.race([
        first.then(() => true),
        new Promise<false>((resolve) => setTimeout(resolve, 200, false)),
      ]);
    });
    expect((await first).value).toMatchObject({ name: 'run', data: { id: idOf(mine) } });
    await publishing;
    await events.return(undefined);
  });
});

test('the API describes itself: every path with its parameters and answers', async () => {
  const { paths } = (await store.ask('GET', '/openapi.json')).json() as unknown as {
    paths: Record<string, Record<string, { summary?: string; parameters?: { name: string }[] }>>;
  };
  const names = paths['/v1/traces']?.['get']?.parameters?.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['agent', 'user', 'tool', 'minCost', 'text', 'from', 'cursor']));
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { summary }] of Object.entries(operations))
      expect([path, method, typeof summary]).toEqual([path, method, 'string']);
  }
});
