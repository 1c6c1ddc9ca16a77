/**
 * OTLP over gRPC: `opentelemetry.proto.collector.trace.v1.TraceService/Export`, with the key as metadata `authorization`.
 * Same bounds, same reading and same answers as over HTTP; only the envelope is another. It is read here and not by a library,
 * since libraries take a message whole into memory before anybody is asked whether there is room for it.
 * Source: gRPC over HTTP/2 (PROTOCOL-HTTP2.md), unary calls; OTLP specification 1.x, OTLP/gRPC.
 */
import {
  constants,
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { RejectedError } from '@pawl/contracts';
import type { Authorizer, BodyGate, Log, Part, Visit } from '@pawl/service';
import { bytesPerPart } from './count-parts.ts';
import { endOfCall, ok, unimplemented, type CallEnd } from './grpc-status.ts';
import { readProtobufSpans, writeProtobufResponse } from './protobuf.ts';
import { readRequest, unpackRequest } from './read-request.ts';
import type { SpanReceiver } from './receive-spans.ts';

const exportPath = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
/** A message has a byte that says whether it is compressed, and its length, before it. */
const prefixBytes = 5;
/** Calls at once on one connection. */
const callsMax = 100;
/** How long a caller may send nothing of its message, and a connection nothing at all; exporters connect again. */
const idleMs = 60_000;
const idleConnectionMs = 3_600_000;
/** How long calls under way may go on once it stops; then they are cut. */
const closeWithinMs = 10_000;

export type GrpcOptions = {
  authorizer: Authorizer;
  receiver: SpanReceiver;
  gate: BodyGate;
  log: Log;
  host: string;
  port: number;
};

/** The server as a part of the service. */
export function createGrpcServer(options: GrpcOptions): Part {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({ settings: { maxConcurrentStreams: callsMax } });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session)).on('error', () => {});
    session.setTimeout(idleConnectionMs, () => session.destroy());
  });
  server.on('stream', (stream, headers) => void serveCall(options, stream, headers));
  return {
    name: 'otlp-grpc',
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(options.port, options.host, () => {
          server.off('error', reject);
          resolve();
        });
      });
      options.log.info({ port: options.port }, 'listening for OTLP over gRPC');
    },
    async stop() {
      const cutOff = setTimeout(() => {
        for (const session of sessions) session.destroy();
      }, closeWithinMs);
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.close();
      await closed;
      clearTimeout(cutOff);
    },
  };
}

async function serveCall(options: GrpcOptions, stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
  // A caller that leaves is no mistake of ours.
  stream.on('error', () => {});
  const visit = options.gate.open();
  try {
    const message = await answerTo(options, { stream, headers, visit });
    sendMessage(stream, message);
  } catch (error) {
    sendEnd(stream, error instanceof UnknownMethodError ? unimplemented : endOfCall(options.log, error));
  } finally {
    visit.leave();
  }
}

class UnknownMethodError extends Error {}

type Call = { stream: ServerHttp2Stream; headers: IncomingHttpHeaders; visit: Visit };

async function answerTo({ authorizer, receiver }: GrpcOptions, call: Call): Promise<Uint8Array> {
  const { stream, headers, visit } = call;
  if (headers[':path'] !== exportPath) throw new UnknownMethodError();
  // Before a message is read: nobody fills the memory without a key.
  const app = await appOf(authorizer, headers);
  stream.setTimeout(idleMs, () => stream.close(constants.NGHTTP2_CANCEL));
  const body = await unpackRequest(...messageIn(await readRequest(stream, visit), headers), visit);
  stream.setTimeout(0);
  const spans = readProtobufSpans(body, (parts) => visit.grow(parts * bytesPerPart));
  return writeProtobufResponse(await receiver.receive(app, spans));
}

/** The one message of a call, and how it is packed. Throws `RejectedError`. */
function messageIn(request: Buffer, headers: IncomingHttpHeaders): [message: Buffer, encoding: string | undefined] {
  const isWhole = request.length >= prefixBytes && request.readUInt32BE(1) === request.length - prefixBytes;
  if (!isWhole) throw new RejectedError('invalid_request', 'the call has to hold one message');
  const encoding = request[0] === 0 ? undefined : headers['grpc-encoding']?.toString();
  return [request.subarray(prefixBytes), encoding];
}

/** The app that the caller's key or token belongs to. Throws `RejectedError`. */
async function appOf(authorizer: Authorizer, { authorization, ...others }: IncomingHttpHeaders): Promise<string> {
  const app = others['x-pawl-app'];
  const asking = {
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      ...(typeof app === 'string' ? { 'x-pawl-app': app } : {}),
    },
  };
  await authorizer.identify(asking);
  return authorizer.authorizeApp(asking, 'traces').app;
}

const head: OutgoingHttpHeaders = { ':status': 200, 'content-type': 'application/grpc+proto' };

function sendMessage(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed || stream.closed) return;
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond(head, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(ok));
  stream.end(Buffer.concat([prefix, message]));
}

/** Ends a call without a message. What the caller still sends is not read. */
function sendEnd(stream: ServerHttp2Stream, end: CallEnd): void {
  if (stream.destroyed || stream.closed) return;
  stream.respond({ ...head, ...end }, { endStream: true });
  stream.close(constants.NGHTTP2_NO_ERROR);
}
