/** How calls over gRPC end, as the trailers that say so. The one place where errors become statuses of gRPC. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { RejectedError, UnavailableError, type ErrorCode } from '@pawl/contracts';
import type { Log } from '@pawl/service';

export type CallEnd = OutgoingHttpHeaders;

const statuses = {
  ok: 0,
  invalidArgument: 3,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
};

/**
 * Exporters try again after `unavailable`, which is how OTLP says that a server can't keep up, and not after the others:
 * `resourceExhausted` without a time to wait is for good.
 */
const statusOfCode: Partial<Record<ErrorCode, number>> = {
  unauthorized: statuses.unauthenticated,
  forbidden: statuses.permissionDenied,
  body_too_large: statuses.resourceExhausted,
  rate_limited: statuses.unavailable,
};

/** `google.rpc.Status` {14, details: [`google.rpc.RetryInfo` {1 s}]}. */
const retryInASecond = statusWithRetry();

export const ok: CallEnd = { 'grpc-status': statuses.ok };
export const unimplemented: CallEnd = {
  'grpc-status': statuses.unimplemented,
  'grpc-message': 'only Export is served',
};

/** What ended a call. Mistakes of our own are logged, and told without detail. */
export function endOfCall(log: Log, error: unknown): CallEnd {
  const status = statusOf(error);
  if (status === statuses.internal) {
    log.error({ reason: error instanceof Error ? error.name : 'unknown' }, 'a request failed');
  }
  const message = status === statuses.internal ? 'something went wrong on our side' : (error as Error).message;
  return {
    'grpc-status': status,
    'grpc-message': encodeURI(message),
    ...(status === statuses.unavailable ? { 'grpc-status-details-bin': retryInASecond } : {}),
  };
}

function statusOf(error: unknown): number {
  if (error instanceof UnavailableError) return statuses.unavailable;
  if (error instanceof RejectedError) return statusOfCode[error.code] ?? statuses.invalidArgument;
  return statuses.internal;
}

function statusWithRetry(): string {
  const field = (number: number, bytes: Buffer) => Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
  const oneSecond = Buffer.from([8, 1]);
  const type = field(1, Buffer.from('type.googleapis.com/google.rpc.RetryInfo'));
  const retryInfo = Buffer.concat([type, field(2, field(1, oneSecond))]);
  return Buffer.concat([Buffer.from([8, statuses.unavailable]), field(3, retryInfo)]).toString('base64');
}
