/**
 * Models that fail in one way each, by name, in every stand-in: for trying how a client or a route behaves. Like all models
 * here they remember nothing.
 */
import type { SimFailure, SimModel, SimReply } from '../completion/reply.ts';

const answer = 'It is product line C because customer A cancelled an order.';
const chunksBeforeFault = 4;
const slowMs = 3_000;

const saying = (reply: SimReply = {}): SimModel => ({ respond: () => ({ answer, ...reply }) });
const failing = (fail: SimFailure): SimModel => ({ respond: () => ({ fail }) });
const busy = (headers: Record<string, string>): SimModel =>
  failing({ status: 429, code: 'rate_limit_exceeded', message: 'slow down', headers });

/** When a date in a header lies, from now. */
const dateAfterMs = 2_000;

/** Every fault by the name of its model. */
export const faultModels: Readonly<Record<string, SimModel>> = {
  'fault-slow-first-token': { ...saying(), firstTokenDelayMs: slowMs },
  'fault-slow-tokens': { ...saying(), tokenDelayMs: slowMs / 3 },
  'fault-stall': saying({ fault: { afterChunks: chunksBeforeFault, kind: 'stall' } }),
  'fault-stall-at-once': saying({ fault: { afterChunks: 0, kind: 'stall' } }),
  'fault-cut': saying({ breakAfterChunks: chunksBeforeFault }),
  'fault-early-end': saying({ fault: { afterChunks: chunksBeforeFault, kind: 'end' } }),
  'fault-garbage': saying({ fault: { afterChunks: chunksBeforeFault, kind: 'garbage' } }),
  'fault-error-in-stream': saying({ fault: { afterChunks: chunksBeforeFault, kind: 'error' } }),
  'fault-error-at-once': saying({ fault: { afterChunks: 0, kind: 'error' } }),
  'fault-no-usage': saying({ isUsageHidden: true }),
  'fault-429': busy({}),
  'fault-429-seconds': busy({ 'retry-after': '1' }),
  'fault-429-ms': busy({ 'retry-after-ms': '200' }),
  'fault-429-hour': busy({ 'retry-after': '3600' }),
  'fault-429-garbage': busy({ 'retry-after': 'soon' }),
  'fault-429-date': {
    respond: () => {
      const headers = { 'retry-after': new Date(Date.now() + dateAfterMs).toUTCString() };
      return { fail: { status: 429, code: 'rate_limit_exceeded', message: 'slow down', headers } };
    },
  },
  'fault-500': failing({ status: 500, code: 'server_error', message: 'something broke' }),
  'fault-503': failing({ status: 503, code: 'overloaded', message: 'overloaded' }),
  'fault-refuse': failing({ status: 400, code: 'invalid_request', message: 'this request is refused' }),
  'fault-unauthorized': failing({ status: 401, code: 'invalid_api_key', message: 'the key is wrong' }),
  'fault-too-long': failing({
    status: 400,
    code: 'context_length_exceeded',
    message: 'the maximum context length is 10 tokens',
  }),
  'fault-bad-arguments': {
    respond: (_conversation, { body }) => {
      const [tool] = (body.tools ?? []).flatMap((one) => (one.function ? [one.function.name] : []));
      return tool === undefined ? { answer } : { calls: [{ tool, args: '{"a":' }] };
    },
  },
};
