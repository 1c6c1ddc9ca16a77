/** `GET/PUT /v1/traces/settings`: what an app wants of its traces. */
import { z } from 'zod';
import { objectNameSchema, RejectedError } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import { redactionSchema } from '@pawl/redaction';
import type { Http } from '@pawl/service';
import { changeDelayMs, type Policy } from '../retention/policy.ts';
import { readSettings, writeSettings } from '../store/app-settings.ts';
import type { Access } from './access.ts';

const appQuery = z.object({ app: objectNameSchema.optional().describe('with the admin key: which app') });

const settingsSchema = z.strictObject({
  class: z
    .string()
    .max(20)
    .default('standard')
    .describe('class of retention, one of PAWL_TRACE_RETENTION; counts for runs that begin five minutes from now on'),
  redaction: redactionSchema.default({}),
  traceUrl: z
    .string()
    .max(2_000)
    .regex(/^https?:\/\/[^\s{}]*\{traceId\}[^\s{}]*$/, 'must be an http address that holds {traceId}')
    .nullable()
    .default(null)
    .describe('where a trace can be seen, for example https://tempo.example.com/trace/{traceId}'),
});

export function serveSettingsRoutes(
  http: Http,
  { database, access, policy }: { database: Database; access: Access; policy: Policy },
): void {
  const shown = {
    summary: 'What the app wants of its traces',
    querystring: appQuery,
    response: { 200: settingsSchema },
  };
  http.get('/v1/traces/settings', { onRequest: access.operators, schema: shown }, async (request) =>
    readSettings(database, access.operate(request).app),
  );
  const schema = { ...shown, summary: 'Replace what the app wants of its traces', body: settingsSchema };
  http.put('/v1/traces/settings', { onRequest: access.operators, schema }, async (request) => {
    const { app, by } = access.operate(request);
    const settings = request.body;
    if (!policy.classes().includes(settings.class)) {
      throw new RejectedError('invalid_request', `class: must be one of ${policy.classes().join(', ')}`);
    }
    await writeSettings(database, { ...settings, app, by, since: new Date(Date.now() + changeDelayMs) });
    await policy.refresh();
    return await readSettings(database, app);
  });
}
