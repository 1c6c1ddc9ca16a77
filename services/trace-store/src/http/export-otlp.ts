/** `GET /v1/traces/{runId}/otlp`: a run as an OTLP request in JSON, for any tracing back end. */
import { z } from 'zod';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import { exportRun } from '../otlp/export-run.ts';
import { findRun } from '../store/read-runs.ts';
import type { BodyLimits } from '../store/record-rows.ts';
import type { Access } from './access.ts';
import { isRunId, unknownRun } from './get-trace.ts';
import { readStory } from './read-story.ts';
import { viewRun } from './run-view.ts';

/** Spans of records above these bounds go out without what is in their bodies, and say so. */
const bodyLimits: BodyLimits = { bodyBytesMax: 4_194_304, totalBytesMax: 67_108_864 };

const querySchema = z.strictObject({
  content: z.enum(['true', 'false']).default('false').describe('with thoughts, arguments and results on the spans'),
});

export function serveExportOtlp(http: Http, { database, access }: { database: Database; access: Access }): void {
  const params = z.object({ runId: z.string() });
  const schema = { summary: 'A run as OTLP spans (JSON), to post to any collector', params, querystring: querySchema };
  http.get('/v1/traces/:runId/otlp', { onRequest: access.readers, schema }, async (request, reply) => {
    const { runId } = request.params;
    const known = isRunId(runId) ? { runId } : {};
    const { app, lens } = await access.read(request, { action: 'export', ...known, detail: 'otlp' });
    const row = isRunId(runId) ? await findRun(database, { app, runId }) : undefined;
    if (!row) throw unknownRun();
    const records = await readStory(database, row, { lens, limits: bodyLimits });
    const hasContent = request.query.content === 'true' && lens === 'whole';
    return reply
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(exportRun(viewRun(row, lens), records, { hasContent })));
  });
}
