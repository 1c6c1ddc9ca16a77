/** One model call that two instrumentations report, one inside of the other, in whatever order their spans come. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useTestServers } from '@pawl/testkit';
import { agentSpans } from '../testing/agent-spans.ts';
import { otlpJsonOf } from '../testing/otlp-json.ts';
import { startStore, type Json, type StartedStore } from '../testing/start-store.ts';
import type { OtlpSpan } from './span.ts';

const servers = useTestServers();
const startNano = BigInt(Date.now() - 60_000) * 1_000_000n;
let store: StartedStore;

beforeAll(async () => {
  store = await startStore(servers);
  await store.putKey('demo');
});
afterAll(() => store?.stop());

/** A framework's spans, and inside of each model call and tool call the same one as OpenLLMetry tells it. */
function nestedSpans(traceId: string): OtlpSpan[] {
  const outer = agentSpans('genai', traceId, startNano);
  const [, ...inner] = agentSpans('openllmetry', traceId, startNano);
  const repeated = inner.map((span) => ({
    ...span,
    spanId: `ff${span.spanId.slice(2)}`,
    parentSpanId: span.spanId,
  }));
  return [...outer, ...repeated];
}

type Trace = { run: Json; records: { slot: string; isRepeat?: boolean }[] };

async function storedRun(traceId: string, batches: OtlpSpan[][]): Promise<Trace> {
  for (const spans of batches) {
    const sent = await store.ask('POST', '/v1/traces', { body: JSON.parse(otlpJsonOf(spans)) as object });
    expect([sent.status, sent.text]).toEqual([200, expect.not.stringContaining('rejected')]);
  }
  const [row] = await store.database.query<{ run_id: string }>('select run_id from traces.runs where trace_id = $1', [
    traceId,
  ]);
  return (await store.ask('GET', `/v1/traces/${row?.run_id}`)).json() as unknown as Trace;
}

test('T6: it counts once and is one card, whether the outer span comes first or last', async () => {
  const spans = nestedSpans('a6'.repeat(16));
  const late = nestedSpans('b6'.repeat(16));
  const forward = await storedRun('a6'.repeat(16), [spans]);
  const backward = await storedRun(
    'b6'.repeat(16),
    late.toReversed().map((span) => [span]),
  );
  for (const { run, records } of [forward, backward]) {
    expect(run).toMatchObject({ steps: 2, toolCalls: 1, tokens: 330, status: 'ended' });
    const slots = records.map(({ slot }) => slot);
    expect(slots.filter((slot) => /^(thought|observed)/.test(slot))).toEqual([
      'thought.0',
      'observed.0.0',
      'thought.1',
    ]);
    expect(records.filter(({ isRepeat }) => isRepeat)).toHaveLength(3);
  }
});
