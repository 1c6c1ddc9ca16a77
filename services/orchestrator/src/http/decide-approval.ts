/** `POST /v1/runs/{id}/approvals/{callId}`: a person's decision on a call, bound to the arguments and the tool that were shown (I11). */
import { z } from 'zod';
import { parseArguments } from '@pawl/calls';
import { decideApprovalSchema, fingerprintJson, RejectedError, type ActedCall } from '@pawl/contracts';
import { guardApp, type Http } from '@pawl/service';
import { voidedCalls, whyVoid } from '../run/changed-tools.ts';
import type { RunState, Turn } from '../run/state.ts';
import { waitingCalls } from '../run/waiting.ts';
import { openRun, type WordRoutes } from './open-run.ts';

const approvalParams = z.object({ id: z.string().max(200), callId: z.string().max(200) });

export function decideApprovalRoute(http: Http, using: WordRoutes): void {
  const schema = { params: approvalParams, body: decideApprovalSchema };
  const onRequest = guardApp(using.authorizer, 'runs:write');
  http.post('/v1/runs/:id/approvals/:callId', { onRequest, schema }, async (request, reply) => {
    const { state, base, view } = await openRun(request, using);
    const { turn, call } = await waitingCall(state, request.params.callId, using);
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
      callId: call.callId,
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

type GatedCall = ActedCall & { toolRevision: string };

/** The call that waits for a decision. Throws `RejectedError` conflict, which says why where none does (any more). */
async function waitingCall(
  state: RunState,
  callId: string,
  using: WordRoutes,
): Promise<{ turn: Turn; call: GatedCall }> {
  const turn = state.turns.at(-1);
  const call = turn && waitingCalls(state, turn).find((waiting) => waiting.callId === callId);
  const { toolRevision } = call ?? {};
  if (!turn || call?.admission !== 'approval' || toolRevision === undefined) {
    throw new RejectedError(
      'conflict',
      voidedCalls(state).find((voided) => voided.callId === callId)?.why ??
        `no call ${callId} of this run waits for approval`,
    );
  }
  const definition = await using.definitions.get(state.started.definition);
  const reason = whyVoid(state, call, { definition, changedAtMs: using.changedAtMs });
  if (reason !== undefined) throw new RejectedError('conflict', reason);
  return { turn, call: { ...call, toolRevision } };
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
