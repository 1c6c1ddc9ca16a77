/**
 * Clients of model endpoints: connections are kept alive and shared, per endpoint, key and connection limits.
 * Nothing is retried and nothing is logged here.
 */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { Targets } from '@pawl/service/targets';
import { Agent } from 'undici';
import { createLeanFetch } from './lean-fetch.ts';

export type Endpoint = {
  /** Absent: the provider's own. */
  baseUrl: string | undefined;
  apiKey: string;
  connectMs: number;
};

export type Endpoints = {
  client(endpoint: Endpoint): OpenAI;
  /** Posts JSON for a call whose time counts: the package's own way to do so costs as much as all else at a call. */
  post(endpoint: Endpoint, of: { path: string; body: object; signal: AbortSignal }): Promise<Response>;
  anthropic(endpoint: Endpoint): Anthropic;
  close(): Promise<void>;
};

const clientsMax = 500;
const agentsMax = 50;
/** What a provider that needs no key is sent. */
const noKey = 'none';
const openAiUrl = 'https://api.openai.com/v1';

export function createEndpoints(targets: Targets): Endpoints {
  const agents = new Map<number, Agent>();
  const senders = new Map<number, typeof fetch>();
  const clients = new Map<string, OpenAI>();
  const anthropicClients = new Map<string, Anthropic>();
  const agentOf = ({ connectMs }: Endpoint): Agent =>
    remember(agents, {
      key: connectMs,
      max: agentsMax,
      make: () => createAgent(targets, connectMs),
    });
  return {
    client: (endpoint) =>
      remember(clients, {
        key: JSON.stringify(endpoint),
        max: clientsMax,
        make: () => createClient(endpoint, agentOf(endpoint)),
      }),
    async post(endpoint, { path, body, signal }) {
      const send = remember(senders, {
        key: endpoint.connectMs,
        max: agentsMax,
        make: () => createLeanFetch(agentOf(endpoint)),
      });
      return await send(urlOf(endpoint, path), {
        method: 'POST',
        headers: { authorization: `Bearer ${endpoint.apiKey || noKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal,
      });
    },
    anthropic: (endpoint) =>
      remember(anthropicClients, {
        key: JSON.stringify(endpoint),
        max: clientsMax,
        make: () => createAnthropicClient(endpoint, agentOf(endpoint)),
      }),
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

function createAgent(targets: Targets, connectMs: number): Agent {
  return new Agent({
    // The clock of the call has limits for these, which are exact where undici's are within a second.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    connect: targets.connector({ timeout: connectMs, allowH2: false }),
  });
}

function createClient(endpoint: Endpoint, agent: Agent): OpenAI {
  return new OpenAI({
    apiKey: endpoint.apiKey || noKey,
    baseURL: endpoint.baseUrl ?? openAiUrl,
    organization: null,
    project: null,
    maxRetries: 0,
    // The clock of the call ends it; this only has to be longer.
    timeout: 2_147_000_000,
    logLevel: 'off',
    fetch: createLeanFetch(agent),
  });
}

function urlOf({ baseUrl = openAiUrl }: Endpoint, path: string): string {
  return (baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`) + path;
}

function createAnthropicClient(endpoint: Endpoint, agent: Agent): Anthropic {
  return new Anthropic({
    apiKey: endpoint.apiKey || noKey,
    authToken: null,
    // The package adds the version itself.
    baseURL: (endpoint.baseUrl ?? 'https://api.anthropic.com').replace(/\/v1\/?$/, ''),
    maxRetries: 0,
    timeout: 2_147_000_000,
    logLevel: 'off',
    fetch: createLeanFetch(agent),
  });
}

function remember<K, T>(known: Map<K, T>, entry: { key: K; max: number; make(): T }): T {
  const found = known.get(entry.key);
  const value = found ?? entry.make();
  known.delete(entry.key);
  known.set(entry.key, value);
  // What is forgotten may still be in use; its idle connections end by themselves.
  const [oldest] = known.keys();
  if (known.size > entry.max && oldest !== undefined) known.delete(oldest);
  return value;
}
