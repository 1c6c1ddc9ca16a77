/**
 * `POST /v1/tools/{name}/call`: tries one tool with the key of its app, through the same code as a run's calls.
 * Answers with the observation as a model would get it. The body's `args` travel as text, so that no digit is lost.
 */
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import { compactJson, maxDepthOf, sliceJson } from '@pawl/calls';
import { RejectedError, renderObservation } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import { newSpanId, newTraceContext, parseTraceparent } from '@pawl/telemetry';
import { recordCallSpan } from '../call-span.ts';
import type { CallRunner } from '../run-call.ts';

export type TryToolOptions = {
  registry: Registry;
  authorizer: Authorizer;
  runCall: CallRunner;
  now: () => number;
};

const params = z.object({ name: z.string().min(1).max(100) });
const maxCharsDefault = 2_000;
const longestCallMs = 300_000;
const bodyDepthMax = 70;

export function serveTryTool(http: Http, options: TryToolOptions): void {
  // A context of its own, because this one body must not be parsed into doubles.
  void http.register(async (scope) => {
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    const onRequest = guardApp(options.authorizer, 'registry');
    scope.post('/v1/tools/:name/call', { onRequest, schema: { params } }, async (request, reply) => {
      const caller = options.authorizer.authorizeApp(request, 'registry');
      const { name } = params.parse(request.params);
      const found = options.registry.find('Tool', caller.app, name);
      if (!found) throw new RejectedError('unknown_tool', `there is no tool ${name}`);
      const tryId = request.headers['idempotency-key'];
      const traceparent = request.headers['traceparent'];
      const parent = parseTraceparent(typeof traceparent === 'string' ? traceparent : undefined) ?? newTraceContext();
      const trace = { ...parent, spanId: newSpanId() };
      const report = await options.runCall({
        app: caller.app,
        tool: found.object,
        args: argsOf(request.body),
        maxChars: maxCharsDefault,
        deadlineAtMs: options.now() + longestCallMs,
        position: undefined,
        ...(typeof tryId === 'string' && tryId !== '' ? { tryId } : {}),
        trace,
      });
      recordCallSpan({ app: caller.app, tool: name, run: undefined, report, trace, parentSpanId: parent.spanId });
      return reply
        .type('application/json')
        .send(renderObservation(report.observation, { tool: name, trust: report.trust }));
    });
  });
}

/** The text of `args` in `{"args": {…}}`; no arguments when it is absent. */
function argsOf(body: unknown): string {
  if (typeof body !== 'string') throw new RejectedError('invalid_json', 'send a JSON body such as {"args": {}}');
  if (maxDepthOf(body) > bodyDepthMax) throw new RejectedError('invalid_request', 'the body is nested too deeply');
  try {
    JSON.parse(body);
  } catch (error) {
    throw new RejectedError('invalid_json', error instanceof Error ? error.message : 'the body is not JSON');
  }
  const slices = sliceJson(compactJson(body));
  if (slices.kind !== 'object')
    throw new RejectedError('invalid_request', 'the body has to be an object such as {"args": {}}');
  const unknown = slices.members.find((member) => member.name !== 'args');
  if (unknown) throw new RejectedError('invalid_request', `the body has an unknown field ${unknown.name}`);
  return slices.members.at(-1)?.value ?? '{}';
}
