import { describe, expect, test } from 'vitest';
import {
  callSpanId,
  formatTraceparent,
  newTraceContext,
  parseTraceparent,
  runSpanId,
  thoughtSpanId,
} from './trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

describe('traceparent', () => {
  test.for([
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-03`, true],
    // A later version may bring more behind a dash.
    [`01-${traceId}-${spanId}-01-more`, true],
    [`cc-${traceId}-${spanId}-00`, false],
  ] as const)('%s is read', ([text, isSampled]) => {
    expect(parseTraceparent(text)).toEqual({ traceId, spanId, isSampled });
  });

  test.for([
    undefined,
    '',
    'x',
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-011`,
    `01-${traceId}-${spanId}-01more`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    ` 00-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01\n`,
    `00-${traceId.slice(1)}-${spanId}-01`,
    `00-${traceId}-${spanId}-0x`,
  ])('%j is not', (text) => {
    expect(parseTraceparent(text)).toBeUndefined();
  });

  test('what is written is read back', () => {
    const context = newTraceContext();
    expect(parseTraceparent(formatTraceparent(context))).toEqual(context);
    const unsampled = { ...context, isSampled: false };
    expect(parseTraceparent(formatTraceparent(unsampled))).toEqual(unsampled);
  });
});

test('the ids of a run’s spans follow from its id and differ from one another', () => {
  const ids = [runSpanId('run_1'), thoughtSpanId('run_1', 1), callSpanId('run_1', 1, 1), callSpanId('run_1', 11, 1)];
  const others = [
    runSpanId('run_2'),
    thoughtSpanId('run_1', 11),
    callSpanId('run_1', 1, 11),
    thoughtSpanId('run_2', 1),
  ];
  const all = [...ids, ...others];
  expect(new Set(all).size).toBe(all.length);
  expect(all.every((id) => /^[0-9a-f]{16}$/.test(id))).toBe(true);
  expect(callSpanId('run_1', 1, 1)).toBe(ids[2]);
});
