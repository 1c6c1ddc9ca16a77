/**
 * What the environment says to the development stack. The only file here that reads `process.env`.
 */

export interface ModelEndpoint {
  baseUrl: string;
  apiKey: string;
  model: string;
}

export interface Settings {
  /** Use this NATS instead of a private one. */
  natsUrl?: string;
  /** Use this Postgres instead of a private one. */
  databaseUrl?: string;
  /** A real model in the place of the scripted one. */
  model?: ModelEndpoint;
  path: string;
  /** Everything, for child processes. */
  environment: NodeJS.ProcessEnv;
}

const OPENAI_BASE_URL = 'https://api.openai.com/v1';
const OPENAI_MODEL = 'gpt-4.1-mini';

/** Reads it anew at each call, so that it stays testable. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): Settings {
  const model = readModel(environment);
  return {
    ...(environment.PAWL_NATS_URL && { natsUrl: environment.PAWL_NATS_URL }),
    ...(environment.PAWL_DATABASE_URL && { databaseUrl: environment.PAWL_DATABASE_URL }),
    ...(model && { model }),
    path: environment.PATH ?? '',
    environment,
  };
}

function readModel(environment: NodeJS.ProcessEnv): ModelEndpoint | undefined {
  const { PAWL_MODEL_BASE_URL: baseUrl, PAWL_MODEL_API_KEY: apiKey, PAWL_MODEL: model, OPENAI_API_KEY: openAiKey } = environment;
  if (baseUrl && model) return { baseUrl, apiKey: apiKey ?? 'none', model };
  if (openAiKey) return { baseUrl: OPENAI_BASE_URL, apiKey: openAiKey, model: model ?? OPENAI_MODEL };
  return undefined;
}
