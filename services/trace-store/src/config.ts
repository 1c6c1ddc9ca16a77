/** What trace-store reads from its environment; nothing else does. */
import process from 'node:process';
import { z } from 'zod';
import { heldClass, standardClass } from './retention/period.ts';
import { baseConfigShape, integerVariable, readConfig } from '@pawl/service';

/** `class=30d` by comma → days by class; `undefined` for ever. */
function parseRetention(text: string, context: z.RefinementCtx): ReadonlyMap<string, number | undefined> {
  const keptDays = new Map<string, number | undefined>([[standardClass, undefined]]);
  for (const item of text.split(',').map((part) => part.trim())) {
    if (item === '') continue;
    const [, name, days] = /^([a-z][a-z0-9]{0,19})(?:=([1-9]\d{0,4})d)?$/.exec(item) ?? [];
    if (name === undefined || name === heldClass) {
      context.addIssue({ code: 'custom', message: `${item}: must be class=days, for example standard=30d` });
      return z.NEVER;
    }
    keptDays.set(name, days === undefined ? undefined : Number(days));
  }
  return keptDays;
}

const configSchema = z.object({
  ...baseConfigShape,
  PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7304),
  /** Facts that are written in one transaction at the most. */
  PAWL_TRACE_BATCH_MAX: integerVariable({ min: 1, max: 2_000 }).default(1_000),
  /** How long a fact waits for others to be written with, in milliseconds. */
  PAWL_TRACE_LINGER_MS: integerVariable({ min: 0, max: 10_000 }).default(100),
  /**
   * How long traces are kept, by class, for example `standard=30d,short=7d,audit=400d`. A class without a number of days is
   * kept for ever, and so is `standard` unless it is named. Weeks are dropped whole.
   */
  PAWL_TRACE_RETENTION: z.string().default('').transform(parseRetention),
  /** How often weeks are made and dropped, users erased and runs archived, in ms; less than a change of class waits. */
  PAWL_TRACE_MAINTENANCE_MS: integerVariable({ min: 100, max: 240_000 }).default(60_000),
  /** Minutes after its end when a stored run leaves the run log; 0: never. */
  PAWL_TRACE_ARCHIVE_AFTER_MINUTES: integerVariable({ min: 0, max: 525_600 }).default(1_440),
  /** Port for OTLP over gRPC, usually 4317. Absent: not served. Behind a proxy that ends TLS. */
  PAWL_OTLP_GRPC_PORT: integerVariable({ min: 1, max: 65_535 }).optional(),
  /** Memory that requests with spans may take at once, by estimate, in bytes: what they hold unpacked, and 200 for each field. */
  PAWL_OTLP_MEMORY_MAX: integerVariable({ min: 1_048_576, max: 68_719_476_736 }).default(268_435_456),
  /** The public client, of the issuer in `PAWL_OIDC_ISSUER`, that people sign in to the page through. Absent: with keys only. */
  PAWL_OIDC_CLIENT_ID: z
    .string()
    .optional()
    .transform((text) => text || undefined),
  /** What the page asks the issuer for. */
  PAWL_OIDC_SIGN_IN_SCOPE: z.string().min(1).default('openid'),
  /** Further parameters of that question, as in an address, for example `audience=https://pawl.example.com`. */
  PAWL_OIDC_SIGN_IN_PARAMETERS: z.string().default(''),
  /** Serve on for this long after SIGTERM, so that load balancers notice. */
  PAWL_DRAIN_MS: integerVariable({ min: 0, max: 600_000 }).default(0),
});
export type Config = z.infer<typeof configSchema>;

/** Names of the variables that are read. */
export const variableNames: readonly string[] = Object.keys(configSchema.shape);

/** Reads the configuration; throws `ConfigError` with every mistake. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  return readConfig(configSchema, environment);
}

/** What looking through stored traces needs: the database and no more. Throws `ConfigError`. */
export function loadDatabaseUrl(environment: Record<string, string | undefined> = process.env): string {
  return readConfig(configSchema.pick({ PAWL_DATABASE_URL: true }), environment).PAWL_DATABASE_URL;
}
