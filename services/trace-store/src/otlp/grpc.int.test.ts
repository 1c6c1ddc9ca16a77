/** OTLP over gRPC with the exporter of the OpenTelemetry SDK as it is. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { credentials, Metadata, makeGenericClientConstructor, status, type ServiceError } from '@grpc/grpc-js';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '@pawl/devstack';
import { eventually, useTestServers } from '@pawl/testkit';
import { startStore, type StartedStore } from '../testing/start-store.ts';

const servers = useTestServers();
let store: StartedStore;
let port: number;

beforeAll(async () => {
  port = await freePort();
  store = await startStore(servers, { PAWL_OTLP_GRPC_PORT: String(port) });
  await store.putKey('demo');
  await eventually(async () => (await store.ask('GET', '/v1/traces')).status === 200);
});
afterAll(() => store.stop());

test.each(['none', 'gzip'])(
  'the exporter as it is, compression %s: an agent run is there as turns',
  async (compression) => {
    const metadata = new Metadata();
    metadata.set('authorization', 'Bearer key-of-demo');
    const exporter = new OTLPTraceExporter({
      url: `http://127.0.0.1:${port}`,
      metadata,
      compression: compression as never,
    });
    const provider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
    const tracer = provider.getTracer('agent');
    const said = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': `over-grpc-${compression}` };
    const root = tracer.startSpan('invoke_agent', { attributes: said }, ROOT_CONTEXT);
    const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm-1', 'gen_ai.usage.input_tokens': 7 };
    tracer.startSpan('chat m-1', { attributes: chat }, trace.setSpan(ROOT_CONTEXT, root)).end();
    root.end();
    await provider.forceFlush();
    await provider.shutdown();
    const list = (await store.ask('GET', `/v1/traces?agent=over-grpc-${compression}`)).json();
    expect(list['items']).toMatchObject([{ status: 'ended', tokens: 7, source: 'otlp' }]);
  },
);

const service = '/opentelemetry.proto.collector.trace.v1.TraceService';

/** The status of a call. */
function send(key: string | undefined, body: Buffer, method = 'Export'): Promise<number> {
  const same = (bytes: Buffer) => bytes;
  const Client = makeGenericClientConstructor({}, 'TraceService');
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const metadata = new Metadata();
  if (key !== undefined) metadata.set('authorization', `Bearer ${key}`);
  return new Promise((resolve) => {
    client.makeUnaryRequest(`${service}/${method}`, same, same, body, metadata, (error: ServiceError | null) => {
      client.close();
      resolve(error?.code ?? 0);
    });
  });
}

test('without a key, with a wrong one, or with what is no request it is refused with the status that says why', async () => {
  expect(await send(undefined, Buffer.alloc(0))).toBe(status.UNAUTHENTICATED);
  expect(await send('nobody', Buffer.alloc(0))).toBe(status.UNAUTHENTICATED);
  expect(await send('key-of-demo', Buffer.from('no protobuf'))).toBe(status.INVALID_ARGUMENT);
  expect(await send('key-of-demo', Buffer.alloc(0))).toBe(status.OK);
  expect(await send('key-of-demo', Buffer.alloc(0), 'Import')).toBe(status.UNIMPLEMENTED);
});

test('what speaks another protocol is hung up on, and others are served', async () => {
  for (const said of ['GET / HTTP/1.1\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\0\0\0\0\0\0']) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.write(Buffer.from(said, 'latin1'));
    await once(socket, 'close');
  }
  expect(await send('key-of-demo', Buffer.alloc(0))).toBe(status.OK);
});

test('many calls at once on one connection are all answered', async () => {
  const calls = Array.from({ length: 300 }, () => send('key-of-demo', Buffer.alloc(0)));
  expect(new Set(await Promise.all(calls))).toEqual(new Set([status.OK]));
});
