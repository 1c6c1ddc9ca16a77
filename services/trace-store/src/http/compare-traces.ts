/** `GET /v1/traces/compare?a=&b=`: two runs of the app beside each other, step by step. */
import { z } from 'zod';
import { runIdSchema } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import { comparedStepSchema, compareRuns } from '../record/compare.ts';
import { findRun } from '../store/read-runs.ts';
import type { ArrangedRecord } from '../otlp/arrange-spans.ts';
import type { BodyLimits } from '../store/record-rows.ts';
import type { Access, Lens } from './access.ts';
import { unknownRun } from './get-trace.ts';
import { readStory } from './read-story.ts';
import { tracedRunSchema, viewRun, type TracedRun } from './run-view.ts';

const bodyLimits: BodyLimits = { bodyBytesMax: 4_194_304, totalBytesMax: 67_108_864 };

const querySchema = z.strictObject({ a: runIdSchema, b: runIdSchema });
const answerSchema = z.object({
  a: tracedRunSchema,
  b: tracedRunSchema,
  firstDifference: z.number().nullable().describe('the first step that differs'),
  steps: z.array(comparedStepSchema),
  isComplete: z.boolean().describe('false where words were too large to be compared: what differs in them is not told'),
});

export function serveCompareTraces(http: Http, { database, access }: { database: Database; access: Access }): void {
  const schema = {
    summary: 'Two runs beside each other, step by step',
    querystring: querySchema,
    response: { 200: answerSchema },
  };
  http.get('/v1/traces/compare', { onRequest: access.readers, schema }, async (request) => {
    const { a, b } = request.query;
    const { app, lens } = await access.read(request, { action: 'compare', runId: a, detail: b });
    const [left, right] = await Promise.all([a, b].map((runId) => readSide(database, { app, runId }, lens)));
    if (!left || !right) throw unknownRun();
    const steps = compareRuns(left.records, right.records);
    const firstDifference = steps.find(({ differs }) => differs.length > 0)?.step ?? null;
    const isComplete = [...left.records, ...right.records].every(({ body }) => body !== null);
    return { a: left.run, b: right.run, firstDifference, steps, isComplete };
  });
}

async function readSide(
  database: Database,
  key: { app: string; runId: string },
  lens: Lens,
): Promise<{ run: TracedRun; records: ArrangedRecord[] } | undefined> {
  const row = await findRun(database, key);
  if (!row) return undefined;
  return { run: viewRun(row, lens), records: await readStory(database, row, { lens, limits: bodyLimits }) };
}
