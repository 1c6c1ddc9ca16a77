/**
 * What people say to a run: `POST /v1/runs/{id}/cancel · /signals · /resume · /approvals/{callId}`. Each is kept in Postgres
 * before it takes effect (I3), and each slot takes one word: an approval can't be given twice, nor to another call.
 */
import { randomUUID } from 'node:crypto';
import { cancelRunSchema, RejectedError, resumeRunSchema, sendSignalSchema } from '@pawl/contracts';
import { guardApp, type Http } from '@pawl/service';
import { raiseLimits } from '../run/limits.ts';
import { limitsOf, pauseOf, type RunState } from '../run/state.ts';
import { totalsOf } from '../run/totals.ts';
import { decideApprovalRoute } from './decide-approval.ts';
import { openRun, type WordRoutes } from './open-run.ts';
import { runParams } from './read-run.ts';

export function wordRoutes(http: Http, using: WordRoutes): void {
  cancelRoute(http, using);
  signalRoute(http, using);
  resumeRoute(http, using);
  decideApprovalRoute(http, using);
}

function cancelRoute(http: Http, using: WordRoutes): void {
  const schema = { params: runParams, body: cancelRunSchema.nullish() };
  const onRequest = guardApp(using.authorizer, 'runs:write');
  http.post('/v1/runs/:id/cancel', { onRequest, schema }, async (request, reply) => {
    const { state, base, view } = await openRun(request, using);
    const reason = request.body?.reason;
    const cancel = { ...base, kind: 'cancel' as const, ...(reason === undefined ? {} : { reason }) };
    await using.sayWord(cancel, state.started.traceId);
    return await reply.code(202).send(await view());
  });
}

function signalRoute(http: Http, using: WordRoutes): void {
  const schema = { params: runParams, body: sendSignalSchema };
  const onRequest = guardApp(using.authorizer, 'runs:write');
  http.post('/v1/runs/:id/signals', { onRequest, schema }, async (request, reply) => {
    const { state, base, view } = await openRun(request, using);
    const { text, data } = request.body;
    const signal = {
      ...base,
      kind: 'signal' as const,
      id: randomUUID(),
      ...(text === undefined ? {} : { text }),
      ...(data === undefined ? {} : { data: JSON.stringify(data) }),
    };
    await using.sayWord(signal, state.started.traceId);
    return await reply.code(202).send(await view());
  });
}

function resumeRoute(http: Http, using: WordRoutes): void {
  const schema = { params: runParams, body: resumeRunSchema.nullish() };
  const onRequest = guardApp(using.authorizer, 'runs:write');
  http.post('/v1/runs/:id/resume', { onRequest, schema }, async (request, reply) => {
    const { state, base, view } = await openRun(request, using);
    if (!pauseOf(state) || state.cancel) throw new RejectedError('conflict', 'the run is not paused');
    const limits = raiseLimits(limitsOf(state), request.body?.limits ?? {});
    checkRaised(state, limits);
    const deadlineAt = new Date(Date.parse(base.at) + limits.wallClockMs).toISOString();
    const resumed = { ...base, kind: 'resumed' as const, k: state.resumes.length, limits, deadlineAt };
    const { isFirst } = await using.sayWord(resumed, state.started.traceId);
    if (!isFirst) throw new RejectedError('conflict', 'the run was resumed already');
    return await reply.code(202).send(await view());
  });
}

/** A run that used up a limit has to get more of it; it would stop at once otherwise. */
function checkRaised(state: RunState, limits: ReturnType<typeof limitsOf>): void {
  const used = totalsOf(state);
  const missing = [
    limits.steps > used.steps ? undefined : `limits.steps has to be above ${used.steps}, which are used`,
    limits.tokens > used.tokens ? undefined : `limits.tokens has to be above ${used.tokens}, which are used`,
    pauseOf(state)?.stopReason !== 'max_tool_calls' || limits.toolCalls > used.toolCalls
      ? undefined
      : `limits.toolCalls has to be above ${used.toolCalls}, which are used`,
    BigInt(limits.spendNanoUsd) > used.costNanoUsd ? undefined : 'limits.spend has to be above what was spent',
  ].filter((sentence) => sentence !== undefined);
  if (missing.length > 0) throw new RejectedError('invalid_request', missing.join('; '));
}
