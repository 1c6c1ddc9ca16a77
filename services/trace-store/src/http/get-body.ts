/** `GET /v1/traces/{runId}/records/{slot}`: the body of one record, the JSON text of its fact as it was written. */
import { z } from 'zod';
import { RejectedError } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import { explainSpan } from '../otlp/explain-span.ts';
import { explain } from '../record/explain.ts';
import { readBody } from '../store/record-rows.ts';
import type { Access } from './access.ts';
import { isRunId } from './get-trace.ts';

const params = z.object({ runId: z.string(), slot: z.string() });

export function serveGetBody(http: Http, { database, access }: { database: Database; access: Access }): void {
  http.get(
    '/v1/traces/:runId/records/:slot',
    { onRequest: access.readers, schema: { summary: 'The body of one record', params } },
    async (request, reply) => {
      const { runId, slot } = request.params;
      const isPlausible = isRunId(runId) && /^[\x21-\x7e]{1,400}$/.test(slot);
      const noted = isPlausible ? { runId, detail: slot } : {};
      const { app, lens } = await access.read(request, { action: 'body', ...noted });
      const body = isPlausible ? await readBody(database, { app, runId, slot }) : undefined;
      if (body === undefined) throw new RejectedError('not_found', 'the app has no such record');
      return reply
        .header('cache-control', 'private, max-age=31536000, immutable')
        .header('vary', 'authorization')
        .type('application/json; charset=utf-8')
        .send(lens === 'whole' ? body : slot.startsWith('span.') ? explainSpan(body) : explain(body));
    },
  );
}
