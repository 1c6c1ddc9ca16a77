/** Whole runs through all four services: parallel tools, money, the stored trace, one trace id over every span. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withTrace } from '@pawl/telemetry';
import { eventually, useTestServers } from '@pawl/testkit';
import { collectSpans } from './spans.ts';
import { startStack, type Stack } from './stack.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const servers = useTestServers();
const spans = collectSpans();
let tools: ToolServer;
let stack: Stack;

beforeAll(async () => {
  tools = await startToolServer();
  stack = await startStack({
    servers,
    models: {
      scripted: {
        respond: ({ question, turn }) =>
          question.startsWith('three') && turn < Number(question.split(' ')[1])
            ? {
                say: `Round ${turn}.`,
                calls: ['a', 'b', 'c'].map((q) => ({ tool: 'slow', args: { q: `${q}${turn}` } })),
              }
            : { answer: 'The answer.' },
      },
    },
  });
  await stack.api.putTool('slow', {
    parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: false },
    http: { method: 'GET', url: `${tools.url}/wait/300` },
  });
  await stack.api.putAgent('analyst', { tools: ['slow'] });
});
afterAll(async () => {
  await stack.stop();
  await tools.stop();
});

describe('a run with three parallel calls', () => {
  it('has its three observations in the time of one call', async () => {
    const { body: run } = await stack.api.run({ agent: 'analyst', input: 'three 1' });
    expect(run).toMatchObject({ stopReason: 'final_answer', answer: 'The answer.', steps: 2, toolCalls: 3 });
    const records = await recordsOf(run.id);
    const observed = records.filter((record) => record.kind === 'observed');
    expect(observed.map((record) => record.status)).toEqual(['ok', 'ok', 'ok']);
    const startedMs = observed.map((record) => Date.parse(record.startedAt));
    expect(Math.max(...startedMs)).toBeLessThan(Math.min(...observed.map(endOf)));
  });

  it('is one trace: run, thoughts, calls and messages under one id, each once', async () => {
    const { body: run } = await stack.api.run({ agent: 'analyst', input: 'three 2' });
    const find = (prefix: string) => spans.ofTrace(run.traceId).filter((span) => span.name.startsWith(prefix));
    await eventually(() => find('invoke_agent').length === 1);
    expect(find('invoke_agent analyst')).toHaveLength(1);
    expect(find('chat scripted')).toHaveLength(3);
    expect(find('execute_tool slow')).toHaveLength(6);
    expect(find('send pawl.').length).toBeGreaterThan(12);
    expect(find('process pawl.')).toHaveLength(9);
    const root = find('invoke_agent')[0];
    for (const span of [...find('chat'), ...find('execute_tool')]) {
      expect(span.parentSpanContext?.spanId).toBe(root?.spanContext().spanId);
    }
    expect(root?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'pawl.stop_reason': 'final_answer',
    });
    expect(find('chat')[0]?.attributes).toMatchObject({
      'gen_ai.request.model': 'scripted',
      'gen_ai.provider.name': 'sim',
    });
  });

  it('passes the trace on to the tool and takes it over from the caller', async () => {
    const traceId = 'c0ffee00'.repeat(4);
    const caller = { traceId, spanId: '00f067aa0ba902b7', isSampled: true };
    const { body } = await withTrace(caller, () => stack.api.startRun({ agent: 'analyst', input: 'three 1' }));
    expect(body.traceId).toBe(traceId);
    await stack.api.getRun(body.id, 30);
    expect(tools.calls.length).toBeGreaterThan(0);
    const traceparent = tools.calls.at(-1)?.headers['traceparent'];
    expect(traceparent).toContain(traceId);
    const span = await eventually(() => spans.ofTrace(traceId).find(({ name }) => name === 'invoke_agent analyst'));
    const request = spans.ofTrace(traceId).find(({ name }) => name === 'POST');
    expect(span.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
  });

  it('costs what the ledger says', async () => {
    const { body: run } = await stack.api.run({ agent: 'analyst', input: 'three 1' });
    const records = await recordsOf(run.id);
    const thoughts = records.filter((record) => record.kind === 'thought');
    const total = thoughts.reduce((sum, record) => sum + BigInt(record.costNanoUsd ?? 0), 0n);
    expect(total).toBeGreaterThan(0n);
    expect(run.cost.nanoUsd).toBe(total.toString());
  });
});

type StoredRecord = { kind: string; status?: string; startedAt: string; durationMs: number; costNanoUsd?: string };

async function recordsOf(runId: string): Promise<StoredRecord[]> {
  return await eventually(async () => {
    const { status, body } = await stack.api.getTrace(runId);
    const records = body.records as StoredRecord[];
    return status === 200 && records.at(-1)?.kind === 'ended' && records;
  });
}

function endOf(record: StoredRecord): number {
  return Date.parse(record.startedAt) + record.durationMs;
}
