/** What the orchestrator reads from its environment. */
import { z } from 'zod';
import { baseConfigShape, integerVariable, readConfig } from '@pawl/service';

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

/** Reads the configuration; throws `ConfigError` with every mistake. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  const secretOf = (app: string, name: string) =>
    environment[`PAWL_SECRET_${app.toUpperCase().replaceAll('-', '_')}_${name}`] ?? environment[`PAWL_SECRET_${name}`];
  return { ...readConfig(schema, environment), secretOf };
}
