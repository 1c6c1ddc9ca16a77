/** What requests with spans take of memory at once is bounded, over HTTP and gRPC together. */
import { once } from 'node:events';
import { request as httpRequest, type ClientRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { credentials, makeGenericClientConstructor, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { freePort } from '@pawl/devstack';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { agentSpans } from '../testing/agent-spans.ts';
import { otlpJsonOf } from '../testing/otlp-json.ts';
import { startStore, type StartedStore } from '../testing/start-store.ts';

const mebibyte = 2 ** 20;
const memoryMax = 8 * mebibyte;
const servers = useTestServers();
let store: StartedStore;
let grpcPort: number;

beforeAll(async () => {
  grpcPort = await freePort();
  const environment = { PAWL_OTLP_MEMORY_MAX: String(memoryMax), PAWL_OTLP_GRPC_PORT: String(grpcPort) };
  store = await startStore(servers, environment);
  await store.putKey('demo');
  await eventually(async () => (await store.ask('GET', '/v1/traces')).status === 200);
});
afterEach(() => eventually(async () => (await figure('pawl_otlp_memory_bytes')) === 0));
afterAll(() => store.stop());

async function figure(name: string): Promise<number> {
  const { text } = await store.ask('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** A request of about so many bytes, about a trace of its own. */
function jsonOf(traceId: string, bytes: number): string {
  const [first, ...others] = agentSpans('genai', traceId, 1_780_000_000_000_000_000n);
  const long = { ...first, attributes: { ...first?.attributes, filler: 'x'.repeat(bytes) } };
  return otlpJsonOf([long as typeof first & object, ...others]);
}

const headers = { authorization: 'Bearer key-of-demo', 'content-type': 'application/json' };
const post = (body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) =>
  fetch(`${store.url}/v1/traces`, { method: 'POST', headers: { ...headers, ...more }, body });

/** A request that has sent so many bytes and sends no more until it is ended. */
async function stalled(bytes: number): Promise<ClientRequest> {
  const before = await figure('pawl_otlp_memory_bytes');
  const sending = httpRequest(`${store.url}/v1/traces`, { method: 'POST', headers });
  sending.on('error', () => {});
  sending.write(Buffer.alloc(bytes, 0x20));
  await eventually(async () => (await figure('pawl_otlp_memory_bytes')) >= before + bytes);
  return sending;
}

function exportOverGrpc(message: Buffer): Promise<ServiceError | undefined> {
  const same = (bytes: Buffer) => bytes;
  const Client = makeGenericClientConstructor({}, 'TraceService');
  const client = new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set('authorization', 'Bearer key-of-demo');
  const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, same, same, message, metadata, (error) => {
      client.close();
      resolve(error ?? undefined);
    });
  });
}

/** A message with a field of so many bytes that is passed over. */
function unknownField(bytes: number): Buffer {
  const length = Buffer.from([
    (bytes & 0x7f) | 0x80,
    ((bytes >> 7) & 0x7f) | 0x80,
    ((bytes >> 14) & 0x7f) | 0x80,
    bytes >> 21,
  ]);
  return Buffer.concat([Buffer.from([0x7a]), length, Buffer.alloc(bytes)]);
}

test('many large requests at once: some are told to come again, all are stored in the end, and nothing stays', async () => {
  let most = 0;
  const watching = new AbortController();
  const watch = (async () => {
    while (!watching.signal.aborted) most = Math.max(most, await figure('pawl_otlp_memory_bytes'));
  })();
  let waited = 0;
  const sendOnce = async (body: string): Promise<boolean> => {
    const { status: code, headers: told } = await post(body);
    if (code === 200) return true;
    expect([code, told.get('retry-after')]).toEqual([429, '1']);
    waited += 1;
    return false;
  };
  const traceIds = Array.from({ length: 16 }, (_unused, at) => (at + 16).toString(16).repeat(16));
  const bodies = traceIds.map((traceId) => jsonOf(traceId, 2 * mebibyte));
  await Promise.all(bodies.map((body) => eventually(() => sendOnce(body), { withinMs: 30_000 })));
  watching.abort();
  await watch;
  expect(waited).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(memoryMax);
  expect(await figure('pawl_otlp_crowded_out_total')).toBeGreaterThanOrEqual(waited);
  const rows = await store.database.query('select distinct trace_id from traces.records where trace_id = any($1)', [
    traceIds,
  ]);
  expect(rows).toHaveLength(traceIds.length);
}, 60_000);

test('what is under way over HTTP leaves no room over gRPC, which is told so, and room again once it has gone', async () => {
  const sending = await stalled(7 * mebibyte);
  const refused = await exportOverGrpc(unknownField(2 * mebibyte));
  expect(refused?.code).toBe(status.UNAVAILABLE);
  const [details] = refused?.metadata.get('grpc-status-details-bin') ?? [];
  expect(String(details)).toContain('google.rpc.RetryInfo');
  expect((await post('{}')).status).toBe(200);
  sending.destroy();
  await eventually(async () => (await exportOverGrpc(unknownField(2 * mebibyte))) === undefined);
});

test('what would not fit alone is too large, however it is packed, and is not sent again', async () => {
  const tooLarge = gzipSync(Buffer.alloc(9 * mebibyte, 0x20));
  expect((await post(new Uint8Array(tooLarge), { 'content-encoding': 'gzip' })).status).toBe(413);
  // Each of its fields has two bytes and becomes an object.
  const spans = Buffer.alloc(mebibyte, Buffer.from([0x12, 0]));
  const length = Buffer.from([0x80, 0x80, 0x40]);
  const inScope = Buffer.concat([Buffer.from([0x12]), length, spans]);
  const size = inScope.length;
  const many = Buffer.concat([
    Buffer.from([0x0a, (size & 0x7f) | 0x80, ((size >> 7) & 0x7f) | 0x80, size >> 14]),
    inScope,
  ]);
  const sent = await post(new Uint8Array(many), { 'content-type': 'application/x-protobuf' });
  expect([sent.status, sent.headers.get('retry-after')]).toEqual([413, null]);
  expect((await exportOverGrpc(many))?.code).toBe(status.RESOURCE_EXHAUSTED);
  expect((await post(`{"resourceSpans":[${'{},'.repeat(50_000)}{}]}`)).status).toBe(413);
});

test('a call over gRPC whose caller leaves in the middle takes nothing with it', async () => {
  const { connect } = await import('node:http2');
  const session = connect(`http://127.0.0.1:${grpcPort}`);
  const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
  const call = session.request({ ':method': 'POST', ':path': path, authorization: 'Bearer key-of-demo' });
  call.write(unknownField(mebibyte));
  await eventually(async () => (await figure('pawl_otlp_memory_bytes')) >= mebibyte);
  session.destroy();
  await once(session, 'close');
});
