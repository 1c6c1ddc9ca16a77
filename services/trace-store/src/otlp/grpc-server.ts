/**
 * OTLP over gRPC: `opentelemetry.proto.collector.trace.v1.TraceService/Export`, with the key as metadata `authorization`.
 * Same bounds, same reading and same answers as over HTTP; only the envelope is another.
 */
import {
  Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  status,
  type sendUnaryData,
  type ServerInterceptor,
  type ServerUnaryCall,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { RejectedError, UnavailableError, type ErrorCode } from '@pawl/contracts';
import type { Authorizer, Log, Part } from '@pawl/service';
import { readProtobufSpans, writeProtobufResponse } from './protobuf.ts';
import type { SpanReceiver } from './receive-spans.ts';

/** Bytes of a request, unpacked. */
const requestBytesMax = 64 * 1_048_576;
/** How long calls under way may go on once it stops; then they are cut. */
const closeWithinMs = 10_000;

const service: ServiceDefinition = {
  Export: {
    path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    requestStream: false,
    responseStream: false,
    requestSerialize: (bytes: Buffer) => bytes,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (bytes: Buffer) => bytes,
    responseDeserialize: (bytes: Buffer) => bytes,
  },
};

export type GrpcOptions = {
  authorizer: Authorizer;
  receiver: SpanReceiver;
  log: Log;
  host: string;
  port: number;
};

/** The server as a part of the service. */
export function createGrpcServer(options: GrpcOptions): Part {
  const interceptors = [refuseStrangers(options)];
  const server = new Server({ 'grpc.max_receive_message_length': requestBytesMax, interceptors });
  server.addService(service, {
    Export: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => void answer(options, call, done),
  });
  return {
    name: 'otlp-grpc',
    async start() {
      const port = await new Promise<number>((resolve, reject) =>
        server.bindAsync(`${options.host}:${options.port}`, ServerCredentials.createInsecure(), (error, bound) =>
          error ? reject(error) : resolve(bound),
        ),
      );
      options.log.info({ port }, 'listening for OTLP over gRPC');
    },
    async stop() {
      const cutOff = setTimeout(() => server.forceShutdown(), closeWithinMs);
      await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      clearTimeout(cutOff);
    },
  };
}

/** Before a message is read: nobody fills the memory without a key. */
function refuseStrangers(options: GrpcOptions): ServerInterceptor {
  return (_method, call) =>
    new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata(metadata, proceed) {
            appOf(options.authorizer, metadata).then(
              () => proceed(metadata),
              (error: unknown) => call.sendStatus(refusalOf(options.log, error)),
            );
          },
        }),
    });
}

type Call = ServerUnaryCall<Buffer, Buffer>;

async function answer(
  { authorizer, receiver, log }: GrpcOptions,
  call: Call,
  done: sendUnaryData<Buffer>,
): Promise<void> {
  try {
    const app = await appOf(authorizer, call.metadata);
    const outcome = await receiver.receive(app, readProtobufSpans(call.request));
    done(null, Buffer.from(writeProtobufResponse(outcome)));
  } catch (error) {
    done(refusalOf(log, error));
  }
}

/** The app that the caller's key or token belongs to. Throws `RejectedError`. */
async function appOf(authorizer: Authorizer, metadata: Metadata): Promise<string> {
  const [authorization] = metadata.get('authorization');
  const [app] = metadata.get('x-pawl-app');
  const asking = {
    headers: {
      ...(typeof authorization === 'string' ? { authorization } : {}),
      ...(typeof app === 'string' ? { 'x-pawl-app': app } : {}),
    },
  };
  await authorizer.identify(asking);
  return authorizer.authorizeApp(asking, 'traces').app;
}

function refusalOf(log: Log, error: unknown): { code: status; details: string; metadata: Metadata } {
  const code = statusOf(error);
  if (code === status.INTERNAL) {
    log.error({ reason: error instanceof Error ? error.name : 'unknown' }, 'a request failed');
  }
  const details = code === status.INTERNAL ? 'something went wrong on our side' : (error as Error).message;
  return { code, details, metadata: new Metadata() };
}

const statuses: Partial<Record<ErrorCode, status>> = {
  unauthorized: status.UNAUTHENTICATED,
  forbidden: status.PERMISSION_DENIED,
  body_too_large: status.RESOURCE_EXHAUSTED,
};

/** Exporters try again after `UNAVAILABLE` and not after the others. */
function statusOf(error: unknown): status {
  if (error instanceof UnavailableError) return status.UNAVAILABLE;
  if (error instanceof RejectedError) return statuses[error.code] ?? status.INVALID_ARGUMENT;
  return status.INTERNAL;
}
