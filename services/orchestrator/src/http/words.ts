/**
 * What people say to a run: `POST /v1/runs/{id}/cancel · /signals · /resume · /approvals/{callId}`. Each is kept in Postgres
 * before it takes effect (I3), and each slot takes one word: an approval can't be given twice, nor to another call.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Bus } from '@pawl/bus';
import { parseArguments } from '@pawl/calls';
import {
  cancelRunSchema,
  decideApprovalSchema,
  fingerprintJson,
  RejectedError,
  resumeRunSchema,
  sendSignalSchema,
} from '@pawl/contracts';
import type { Authorizer, Http } from '@pawl/service';
import type { FastifyRequest } from 'fastify';
import type { SayWord } from '../intake/say-word.ts';
import type { Partitions } from '../partitions/partitions.ts';
import { foldRun, type ReadRun } from '../partitions/read-run.ts';
import { raiseLimits } from '../run/limits.ts';
import { limitsOf, pauseOf, type RunState } from '../run/state.ts';
import { totalsOf } from '../run/totals.ts';
import { waitingCalls } from '../run/waiting.ts';
import { runParams } from './read-run.ts';

export type WordRoutes = {
  authorizer: Authorizer;
  bus: Bus;
  readRun: ReadRun;
  partitions: Partitions;
  sayWord: SayWord;
};

export function wordRoutes(http: Http, using: WordRoutes): void {
  cancelRoute(http, using);
  signalRoute(http, using);
  resumeRoute(http, using);
  approvalRoute(http, using);
}

function cancelRoute(http: Http, using: WordRoutes): void {
  const schema = { params: runParams, body: cancelRunSchema.nullish() };
  http.post('/v1/runs/:id/cancel', { schema }, async (request, reply) => {
    const { state, base, view } = await openRun(request, using);
    const reason = request.body?.reason;
    const cancel = { ...base, kind: 'cancel' as const, ...(reason === undefined ? {} : { reason }) };
    await using.sayWord(cancel, state.started.traceId);
    return await reply.code(202).send(await view());
  });
}

function signalRoute(http: Http, using: WordRoutes): void {
  const schema = { params: runParams, body: sendSignalSchema };
  http.post('/v1/runs/:id/signals', { schema }, async (request, reply) => {
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
  http.post('/v1/runs/:id/resume', { schema }, async (request, reply) => {
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

const approvalParams = z.object({ id: z.string().max(200), callId: z.string().max(200) });

function approvalRoute(http: Http, using: WordRoutes): void {
  const schema = { params: approvalParams, body: decideApprovalSchema };
  http.post('/v1/runs/:id/approvals/:callId', { schema }, async (request, reply) => {
    const { state, base, view } = await openRun(request, using);
    const { callId } = request.params;
    const turn = state.turns.at(-1);
    const call = turn && waitingCalls(state, turn).find((waiting) => waiting.callId === callId);
    if (!turn || call?.admission !== 'approval' || !call.toolRevision) {
      throw new RejectedError('conflict', `no call ${callId} of this run waits for approval`);
    }
    const { body } = request;
    if (body.argsHash !== call.argsHash) {
      throw new RejectedError('conflict', 'argsHash is not that of the arguments that wait: read the run again');
    }
    const edited = body.decision === 'edit' ? exactText(body.args) : undefined;
    const approval = {
      ...base,
      kind: 'approval' as const,
      m: turn.m,
      i: call.i,
      callId,
      decision: body.decision,
      toolRevision: call.toolRevision,
      argsHash: edited === undefined ? body.argsHash : fingerprintJson(edited),
      ...(edited === undefined ? {} : { args: edited }),
      ...(body.reason === undefined ? {} : { reason: body.reason }),
    };
    const { isFirst } = await using.sayWord(approval, state.started.traceId);
    if (!isFirst) throw new RejectedError('conflict', 'this call was decided already');
    return await reply.code(200).send(await view());
  });
}

/** Arguments as JSON text that says exactly what was sent (I11). Numbers that reading the body has rounded are refused. */
function exactText(args: string | Record<string, unknown>): string {
  if (typeof args !== 'string') {
    return JSON.stringify(args, (name, value: unknown) => {
      if (typeof value !== 'number' || !Number.isInteger(value) || Number.isSafeInteger(value)) return value;
      throw new RejectedError(
        'invalid_request',
        `args: ${name} is beyond 2^53: send args as JSON text to keep its digits`,
      );
    });
  }
  const parsed = parseArguments(args);
  if ('failure' in parsed) throw new RejectedError('invalid_request', `args: ${parsed.failure.message}`);
  return parsed.args.text;
}

/** A run of the caller's app that takes words, and what every word of a person has. */
async function openRun(request: FastifyRequest<{ Params: { id: string } }>, using: WordRoutes) {
  const caller = using.authorizer.authorizeApp(request, 'runs:write');
  const { id } = request.params;
  const current = await using.readRun.read(caller.app, id);
  if (current.status === 'ended') throw new RejectedError('run_ended', `the run ended with ${current.stopReason}`);
  const state = using.partitions.find(id) ?? (await foldRun(using.bus, caller.app, id));
  if (!state) throw new RejectedError('conflict', 'the run has not begun yet: try again in a moment');
  const by = caller.user ? `user ${caller.user.id}` : `key ${caller.keyId}`;
  const base = { v: 1 as const, runId: id, app: caller.app, at: new Date().toISOString(), by };
  return { state, base, view: () => using.readRun.read(caller.app, id) };
}
