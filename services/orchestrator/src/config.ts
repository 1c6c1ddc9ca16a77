/** What the orchestrator reads from its environment. */
import { z } from 'zod';
import { objectNameSchema } from '@pawl/contracts';
import { baseConfigShape, integerVariable, natsConfigShape, readConfig } from '@pawl/service';

const schema = z.object({
  ...baseConfigShape,
  PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7301),
  /** Serve on for this long after SIGTERM, so that load balancers notice. */
  PAWL_DRAIN_MS: integerVariable({ min: 0, max: 600_000 }).default(0),
});

export type Config = z.infer<typeof schema> & {
  /** The value of `${secret:NAME}` for an app: `PAWL_SECRET_<APP>_<NAME>`, else `PAWL_SECRET_<NAME>`; nothing else. */
  secretOf(app: string, name: string): string | undefined;
};

/** Names of the variables that are read. */
export const variableNames: readonly string[] = Object.keys(schema.shape);

/** Reads the configuration; throws `ConfigError` with every mistake. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  const secretOf = (app: string, name: string) =>
    environment[`PAWL_SECRET_${app.toUpperCase().replaceAll('-', '_')}_${name}`] ?? environment[`PAWL_SECRET_${name}`];
  return { ...readConfig(schema, environment), secretOf };
}

const names = (text: string) => text.split(',').flatMap((name) => name.trim() || []);

const setupSchema = z.object({
  ...natsConfigShape,
  /** Apps whose work queues are made, by comma. */
  PAWL_APPS: z.string().default('').transform(names).pipe(z.array(objectNameSchema)),
  /** Pools of tool-runners, by comma. */
  PAWL_POOLS: z.string().default('default').transform(names).pipe(z.array(objectNameSchema)),
});

/** Names of the variables that making streams and queues reads. */
export const setupVariableNames: readonly string[] = Object.keys(setupSchema.shape);

/** What making streams and queues needs. Throws `ConfigError`. */
export function loadSetupConfig(
  environment: Record<string, string | undefined> = process.env,
): z.infer<typeof setupSchema> {
  return readConfig(setupSchema, environment);
}

const serviceUrl = z.url({ protocol: /^https?$/ });
const callerShape = {
  PAWL_ADMIN_KEY: z.string().min(1),
  PAWL_ORCHESTRATOR_URL: serviceUrl,
  PAWL_TOOL_RUNNER_URL: serviceUrl,
  PAWL_LLM_GATEWAY_URL: serviceUrl,
};
const applySchema = z.object({
  ...callerShape,
  /** Folder with the files. */
  PAWL_OBJECTS_DIR: z.string().min(1),
  /** How long to wait for each service, in seconds. */
  PAWL_APPLY_WAIT_S: integerVariable({ min: 0, max: 86_400 }).default(600),
});

/** Names of the variables that declaring objects reads. */
export const applyVariableNames: readonly string[] = Object.keys(applySchema.shape);

/** What declaring objects needs. Throws `ConfigError`. */
export function loadApplyConfig(
  environment: Record<string, string | undefined> = process.env,
): z.infer<typeof applySchema> {
  return readConfig(applySchema, environment);
}

const checkSchema = z.object({ ...callerShape, PAWL_TRACE_STORE_URL: serviceUrl });

/** Names of the variables that checking an installation reads. */
export const checkVariableNames: readonly string[] = Object.keys(checkSchema.shape);

/** What checking an installation needs. Throws `ConfigError`. */
export function loadCheckConfig(
  environment: Record<string, string | undefined> = process.env,
): z.infer<typeof checkSchema> {
  return readConfig(checkSchema, environment);
}
