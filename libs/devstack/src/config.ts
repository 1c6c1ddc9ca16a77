/**
 * What the environment says to the development stack. The only file here that reads `process.env`.
 */
import type { Price } from '@pawl/contracts';
import { DevstackError } from './devstack-error.ts';

export interface ModelEndpoint {
  baseUrl: string;
  apiKey: string;
  model: string;
  /** Where the environment names one. */
  price?: Price;
}

export interface DevstackConfig {
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

/**
 * Reads it anew at each call, so that it stays testable.
 * @throws DevstackError on a variable that makes no sense.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): DevstackConfig {
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
  const { PAWL_MODEL_BASE_URL: baseUrl, PAWL_MODEL_API_KEY: apiKey, PAWL_MODEL: model } = environment;
  const price = readPrice(environment.PAWL_MODEL_PRICE);
  if (baseUrl) {
    if (!model)
      throw new DevstackError('PAWL_MODEL_BASE_URL is set, so PAWL_MODEL has to name the model to use there.');
    if (!/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ''))
      throw new DevstackError(
        `PAWL_MODEL_BASE_URL has to begin with http:// or https://, as in http://localhost:11434/v1, not: ${baseUrl}`,
      );
    return { baseUrl, apiKey: apiKey || 'none', model, ...price };
  }
  const openAiKey = environment.OPENAI_API_KEY;
  if (openAiKey) return { baseUrl: OPENAI_BASE_URL, apiKey: openAiKey, model: model || OPENAI_MODEL, ...price };
  if (model || apiKey)
    throw new DevstackError(
      'PAWL_MODEL and PAWL_MODEL_API_KEY need PAWL_MODEL_BASE_URL beside them, or OPENAI_API_KEY, to say who is asked.',
    );
  return undefined;
}

function readPrice(text: string | undefined): { price?: Price } {
  if (!text) return {};
  const [, inputPerMillion, outputPerMillion] = /^(\d+(?:\.\d{1,9})?)\/(\d+(?:\.\d{1,9})?)$/.exec(text) ?? [];
  if (inputPerMillion && outputPerMillion) return { price: { currency: 'USD', inputPerMillion, outputPerMillion } };
  throw new DevstackError(
    `PAWL_MODEL_PRICE has to look like 0.40/1.60 (input/output, USD per million tokens), not: ${text}`,
  );
}
