/** POST /v1/runs/{id}/cancel: asks a run to stop. Committed before it is told (I3); asking twice changes nothing. */
import { publishFact, type Bus } from '@pawl/bus';
import { cancelRunSchema, RejectedError, type Cancel } from '@pawl/contracts';
import type { Authorizer, Http } from '@pawl/service';
import { runSpanId } from '@pawl/telemetry';
import type { RunStore } from '../intake/run-store.ts';
import type { ReadRun } from '../partitions/read-run.ts';
import { runParams } from './read-run.ts';

export function cancelRunRoute(
  http: Http,
  using: { authorizer: Authorizer; bus: Bus; store: RunStore; readRun: ReadRun },
): void {
  const schema = { params: runParams, body: cancelRunSchema.nullish() };
  http.post('/v1/runs/:id/cancel', { schema }, async (request, reply) => {
    const caller = using.authorizer.authorizeApp(request, 'runs:write');
    const { id } = request.params;
    const run = await using.readRun.read(caller.app, id);
    const reason = request.body?.reason;
    const wanted: Cancel = {
      v: 1,
      kind: 'cancel',
      runId: id,
      app: caller.app,
      at: new Date().toISOString(),
      ...(reason === undefined ? {} : { reason }),
      by: `key ${caller.keyId}`,
    };
    const cancel = run.status === 'ended' ? undefined : await using.store.cancel(wanted);
    if (!cancel) throw new RejectedError('run_ended', `the run ended with ${run.stopReason ?? 'an answer'}`);
    await publishFact(using.bus, cancel, { traceId: run.traceId, spanId: runSpanId(id), isSampled: true });
    return await reply.code(202).send(await using.readRun.read(caller.app, id));
  });
}
