/** Configuration of the tool-runner, read once at start. The only reader of the environment. */
import { z } from 'zod';
import { objectNameSchema } from '@pawl/contracts';
import { baseConfigShape, integerVariable, readConfig } from '@pawl/service';
import type { SecretSource } from './kinds/secrets.ts';

const configSchema = z.object({
  ...baseConfigShape,
  PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7302),
  /** Pools whose calls this runner executes, by comma. */
  PAWL_POOLS: z
    .string()
    .default('default')
    .transform((text) => text.split(',').map((pool) => pool.trim()))
    .pipe(z.array(objectNameSchema).min(1)),
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
  /** Connections to one data source at the most. */
  PAWL_SQL_CONNECTIONS_MAX: integerVariable({ min: 1, max: 1_000 }).default(8),
  /** Serve on for this long after SIGTERM, so that load balancers notice. */
  PAWL_DRAIN_MS: integerVariable({ min: 0, max: 600_000 }).default(0),
  /** Bytes of one result at the most. */
  PAWL_RESULT_BYTES_MAX: integerVariable({ min: 1_024, max: 64 * 1024 * 1024 }).default(8 * 1024 * 1024),
});

export type Config = z.infer<typeof configSchema> & {
  secretOf: SecretSource;
  /** `PATH` of child processes. */
  commandPath: string;
};

/** Reads the configuration; throws `ConfigError` with every mistake. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  return {
    ...readConfig(configSchema, environment),
    secretOf: secretsOf(environment),
    commandPath: environment['PATH'] ?? '',
  };
}

/** Variables that belong to the service itself and are never a tool's secret. */
const ownVariable = /^(PAWL|OTEL|NODE|NPM|NATS|PG|POSTGRES|KUBERNETES|AWS|GOOGLE|AZURE|OPENAI|ANTHROPIC)(_|$)/i;

/** `${secret:NAME}` is `PAWL_SECRET_NAME`, or `NAME` where that is none of the service's own variables. */
function secretsOf(environment: Record<string, string | undefined>): SecretSource {
  const snapshot = { ...environment };
  return (name) => {
    const explicit = snapshot[`PAWL_SECRET_${name}`];
    if (explicit !== undefined && explicit !== '') return explicit;
    const plain = ownVariable.test(name) ? undefined : snapshot[name];
    return plain === '' ? undefined : plain;
  };
}
