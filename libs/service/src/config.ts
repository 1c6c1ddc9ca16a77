/** Configuration: one zod object per service, read once from the environment, all mistakes reported together. */
import { z } from 'zod';
import type { BusOptions } from '@pawl/bus';
import type { DatabaseOptions } from '@pawl/db';
import { logLevels } from './log.ts';
import { oidcConfigShape } from './oidc/oidc-config.ts';

const optionalText = z
  .string()
  .optional()
  .transform((text) => (text === '' ? undefined : text));

/** A whole number in an environment variable. */
export function integerVariable(range: { min: number; max: number }) {
  return z.coerce.number().int().min(range.min).max(range.max);
}

/** How NATS is reached. */
export const natsConfigShape = {
  PAWL_NATS_URL: z.string().min(1, 'is needed, for example nats://localhost:4222'),
  /** Instead of user and password in the URL. */
  PAWL_NATS_USER: optionalText,
  PAWL_NATS_PASSWORD: optionalText,
  /** PEM files: whom to trust, and a certificate to show. Any of them asks for TLS, as `tls://` does. */
  PAWL_NATS_CA_FILE: optionalText,
  PAWL_NATS_CERT_FILE: optionalText,
  PAWL_NATS_KEY_FILE: optionalText,
  PAWL_PARTITIONS: integerVariable({ min: 1, max: 1_024 }).optional(),
  /** Copies of each stream on a NATS cluster. */
  PAWL_REPLICAS: integerVariable({ min: 1, max: 5 }).default(1),
};

/** How Postgres is reached. */
const databaseConfigShape = {
  PAWL_DATABASE_URL: z.string().min(1, 'is needed, for example postgres://user:password@localhost:5432/pawl'),
  /** PEM file of whom to trust: connections are then encrypted and the server's name is checked. */
  PAWL_DATABASE_CA_FILE: optionalText,
};

/** What every service reads. Names are those of the environment. */
export const baseConfigShape = {
  ...natsConfigShape,
  ...databaseConfigShape,
  /** Address to listen on. */
  PAWL_HOST: z.string().default('0.0.0.0'),
  PAWL_LOG_LEVEL: z.enum(logLevels).default('info'),
  /** The key that may create keys and write objects of every app. */
  PAWL_ADMIN_KEY: optionalText,
  ...oidcConfigShape,
  /** Hosts, by comma, that tools, model routes and webhooks may reach although they are private. */
  PAWL_ALLOW_PRIVATE_HOSTS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((host) => host.trim().toLowerCase())
        .filter((host) => host !== ''),
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalText,
  OTEL_SERVICE_NAME: optionalText,
};

/** Reads a configuration. Throws `ConfigError` that lists every mistake. */
export function readConfig<T>(schema: z.ZodType<T>, environment: Record<string, string | undefined>): T {
  const parsed = schema.safeParse(environment);
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues.map((issue) => {
    const name = issue.path.join('.');
    const isMissing = environment[String(issue.path[0])] === undefined;
    return `  ${name} ${isMissing ? 'is not set' : 'is wrong'}: ${issue.message}`;
  });
  throw new ConfigError(`The configuration has ${mistakes.length} mistake(s):\n${mistakes.join('\n')}`);
}

/** The environment does not fit: the message names every mistake, one a line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

type Parsed<Shape extends z.ZodRawShape> = z.infer<z.ZodObject<Shape>>;

/** The connection to NATS that a configuration describes; only its name is missing. */
export function busOptionsOf(config: Parsed<typeof natsConfigShape>): Omit<BusOptions, 'name'> {
  return {
    url: config.PAWL_NATS_URL,
    user: config.PAWL_NATS_USER,
    password: config.PAWL_NATS_PASSWORD,
    tls: {
      caFile: config.PAWL_NATS_CA_FILE,
      certFile: config.PAWL_NATS_CERT_FILE,
      keyFile: config.PAWL_NATS_KEY_FILE,
    },
    partitions: config.PAWL_PARTITIONS,
    replicas: config.PAWL_REPLICAS,
  };
}

/** The database that a configuration describes. */
export function databaseOptionsOf(config: Parsed<typeof databaseConfigShape>): Pick<DatabaseOptions, 'url' | 'caFile'> {
  return { url: config.PAWL_DATABASE_URL, caFile: config.PAWL_DATABASE_CA_FILE };
}

/** What migrations read: the database and no more. */
export function migrationConfig(
  environment: Record<string, string | undefined> = process.env,
): Parsed<typeof databaseConfigShape> {
  return readConfig(z.object(databaseConfigShape), environment);
}
