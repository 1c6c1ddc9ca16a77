/**
 * `POST /v1/traces`: OTLP over HTTP, protobuf and JSON, plain or gzip. Spans that can't be kept are counted in the answer,
 * the others are stored and committed before it. What finds no room in memory is answered with 429 and `Retry-After`.
 * Source: OTLP specification 1.x, OTLP/HTTP.
 */
import type { Readable } from 'node:stream';
import { guardApp, type Authorizer, type BodyGate, type Http } from '@pawl/service';
import { bytesPerPart } from '../otlp/count-parts.ts';
import { readJsonSpans } from '../otlp/json.ts';
import { readProtobufSpans, writeProtobufResponse } from '../otlp/protobuf.ts';
import { readRequest, unpackRequest } from '../otlp/read-request.ts';
import type { SpanReceiver } from '../otlp/receive-spans.ts';

const protobuf = 'application/x-protobuf';

type OtlpRoutes = { authorizer: Authorizer; receiver: SpanReceiver; gate: BodyGate };

export async function serveReceiveOtlp(http: Http, { authorizer, receiver, gate }: OtlpRoutes): Promise<void> {
  await http.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const types = ['application/json', protobuf];
    scope.addContentTypeParser(types, (_request, body, done) => done(null, body));
    const schema = { summary: 'Store spans of other agents (OTLP/HTTP: protobuf or JSON, gzip)', consumes: types };
    scope.post('/v1/traces', {
      schema,
      // Before the body is read: nobody fills the memory without a key.
      onRequest: guardApp(authorizer, 'traces'),
      async handler(request, reply) {
        const { app } = authorizer.authorizeApp(request, 'traces');
        const isProtobuf = speaksProtobuf(request);
        const visit = gate.open();
        try {
          const received = request.body ? await readRequest(request.body as Readable, visit) : Buffer.alloc(0);
          const body = await unpackRequest(received, request.headers['content-encoding'], visit);
          const count = (parts: number) => visit.grow(parts * bytesPerPart);
          const spans = isProtobuf ? readProtobufSpans(body, count) : readJsonSpans(body, count);
          const outcome = await receiver.receive(app, spans);
          if (isProtobuf) return await reply.type(protobuf).send(Buffer.from(writeProtobufResponse(outcome)));
          const { rejected, reason } = outcome;
          const partial = { rejectedSpans: String(rejected), errorMessage: reason ?? '' };
          return await reply.send(rejected === 0 ? {} : { partialSuccess: partial });
        } finally {
          visit.leave();
        }
      },
    });
  });
}

function speaksProtobuf({ headers }: { headers: { 'content-type'?: string | undefined } }): boolean {
  return headers['content-type']?.toLowerCase().startsWith(protobuf) ?? false;
}
