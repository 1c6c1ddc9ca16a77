/** Configuration of the tool-runner, read once at start. The only reader of the environment. */
import { z } from 'zod';
import { objectNameSchema } from '@pawl/contracts';
import { baseConfigShape, integerVariable, readConfig } from '@pawl/service';

function poolOf(text: string): { name: string; callsMax: number | undefined } {
  const [name = '', callsMax] = text.trim().split(':');
  return { name, callsMax: callsMax === undefined ? undefined : Number(callsMax) };
}

const configSchema = z.object({
  ...baseConfigShape,
  PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7302),
  /** Pools whose calls this runner executes, by comma; `heavy:8` has no more than 8 calls under way here. */
  PAWL_POOLS: z
    .string()
    .default('default')
    .transform((text) => text.split(',').map(poolOf))
    .pipe(
      z
        .array(z.object({ name: objectNameSchema, callsMax: z.union([z.int().min(1).max(10_000), z.undefined()]) }))
        .min(1),
    ),
  /** Calls under way at once. */
  PAWL_CALLS_MAX: integerVariable({ min: 1, max: 10_000 }).default(256),
  /** Subjects that tools of kind `nats` may use, by comma, in NATS patterns; `{app}` stands for the tool's app. */
  PAWL_TOOL_SUBJECTS: z
    .string()
    .default('>')
    .transform((text) => text.split(',').map((pattern) => pattern.trim()))
    .pipe(z.array(z.string().regex(/^([A-Za-z0-9_{}*-]+\.)*([A-Za-z0-9_{}*-]+|>)$/)).min(1)),
  /** Commands that MCP servers of apps may be started with as child processes, by comma; `*` is any. None without it. */
  PAWL_MCP_COMMANDS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((command) => command.trim())
        .filter((command) => command !== ''),
    ),
  /** Calls of one app, and of one tool, under way at once in this process; more wait. */
  PAWL_CALLS_PER_APP_MAX: integerVariable({ min: 1, max: 10_000 }).default(128),
  PAWL_CALLS_PER_TOOL_MAX: integerVariable({ min: 1, max: 10_000 }).default(64),
  /** Where secrets are mounted as files, `<app>/<NAME>`. */
  PAWL_SECRETS_DIR: z.string().optional(),
  /** Connections to one data source at the most. */
  PAWL_SQL_CONNECTIONS_MAX: integerVariable({ min: 1, max: 1_000 }).default(8),
  /** Serve on for this long after SIGTERM, so that load balancers notice. */
  PAWL_DRAIN_MS: integerVariable({ min: 0, max: 600_000 }).default(0),
  /** Bytes of one result at the most. */
  PAWL_RESULT_BYTES_MAX: integerVariable({ min: 1_024, max: 64 * 1024 * 1024 }).default(8 * 1024 * 1024),
});

export type Config = z.infer<typeof configSchema> & {
  /** Variables that begin with `PAWL_SECRET_`. */
  secretVariables: Readonly<Record<string, string | undefined>>;
  /** `PATH` of child processes. */
  commandPath: string;
};

/** Names of the variables that are read. */
export const variableNames: readonly string[] = Object.keys(configSchema.shape);

/** Reads the configuration; throws `ConfigError` with every mistake. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  const secretVariables = Object.fromEntries(
    Object.entries(environment).filter(([name]) => name.startsWith('PAWL_SECRET_')),
  );
  return { ...readConfig(configSchema, environment), secretVariables, commandPath: environment['PATH'] ?? '' };
}
