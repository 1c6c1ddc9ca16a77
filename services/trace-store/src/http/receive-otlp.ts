/**
 * `POST /v1/traces`: OTLP over HTTP, protobuf and JSON, plain or gzip. Spans that can't be kept are counted in the answer,
 * the others are stored and committed before it.
 * Source: OTLP specification 1.x, OTLP/HTTP.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { problem, RejectedError } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import { readJsonSpans } from '../otlp/json.ts';
import { readProtobufSpans, writeProtobufResponse } from '../otlp/protobuf.ts';
import type { SpanReceiver } from '../otlp/receive-spans.ts';

/** Bytes of a request, also after it was unpacked. */
export const otlpBytesMax = 64 * 1_048_576;
const unpack = promisify(gunzip);
const protobuf = 'application/x-protobuf';

export async function serveReceiveOtlp(
  http: Http,
  { authorizer, receiver }: { authorizer: Authorizer; receiver: SpanReceiver },
): Promise<void> {
  await http.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const types = ['application/json', protobuf];
    scope.addContentTypeParser(types, { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    const schema = { summary: 'Store spans of other agents (OTLP/HTTP: protobuf or JSON, gzip)', consumes: types };
    scope.post('/v1/traces', {
      schema,
      bodyLimit: otlpBytesMax,
      // Before the body is read: nobody fills the memory without a key.
      onRequest: guardApp(authorizer, 'traces'),
      async handler(request, reply) {
        const { app } = authorizer.authorizeApp(request, 'traces');
        const isProtobuf = speaksProtobuf(request);
        const body = await bodyOf(request.body, request.headers['content-encoding']);
        const received = isProtobuf ? readProtobufSpans(body) : readJsonSpans(body);
        const outcome = await receiver.receive(app, received);
        if (isProtobuf) return reply.type(protobuf).send(Buffer.from(writeProtobufResponse(outcome)));
        const { rejected, reason } = outcome;
        const partial = { rejectedSpans: String(rejected), errorMessage: reason ?? '' };
        return reply.send(rejected === 0 ? {} : { partialSuccess: partial });
      },
    });
  });
}

function speaksProtobuf({ headers }: { headers: { 'content-type'?: string | undefined } }): boolean {
  return headers['content-type']?.toLowerCase().startsWith(protobuf) ?? false;
}

/** The body, unpacked; none at all is a request without spans. */
async function bodyOf(received: unknown, encoding = 'identity'): Promise<Buffer> {
  const body = Buffer.isBuffer(received) ? received : Buffer.alloc(0);
  const packed = encoding.trim().toLowerCase();
  if (packed === 'identity' || packed === '') return body;
  if (packed !== 'gzip') throw new RejectedError('unsupported_media_type', 'content-encoding: only gzip is taken');
  try {
    return await unpack(body, { maxOutputLength: otlpBytesMax });
  } catch (error) {
    const isTooLarge = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    if (isTooLarge) throw new RejectedError('body_too_large', problem('body_too_large', '').title);
    throw new RejectedError('invalid_request', 'the body is no gzip');
  }
}
