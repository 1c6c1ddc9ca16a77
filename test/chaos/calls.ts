/** Model calls of every kind that a gateway takes, each asked until it has an answer or a refusal, whatever dies meanwhile. */
import { randomUUID } from 'node:crypto';
import { followFacts, publishWork, type Bus } from '@pawl/bus';
import { subjects, type Thought, type ThinkWork } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { eventually } from '@pawl/testkit';

/** `app`: over HTTP, out of slices. The others count on the run as well: over HTTP with and without a key, and its think work. */
export const kinds = ['run, keyed', 'app', 'run', 'think work'] as const;
export type Kind = (typeof kinds)[number];

/** `answered`, `refused` for money, or what else came of a call. */
export type Outcome = string;

export type Calls = {
  /** `url`: the gateway that is asked first. */
  ask(kind: Kind, url?: string): Promise<Outcome>;
  stop(): Promise<void>;
};

export type CallsOptions = {
  urls: readonly string[];
  bus: Bus;
  app: string;
  key: string;
  run: { runId: string; limitNanoUsd: bigint };
  maxTokens: number;
};

const attemptsMax = 60;
const answeredWithinMs = 200_000;
const messages = [{ role: 'user' as const, content: 'Go.' }];

export async function openCalls(options: CallsOptions): Promise<Calls> {
  const { urls, bus, app, run } = options;
  const thoughts = new Map<number, Thought>();
  const following = followFacts(bus, {
    filter: subjects.factsOfRun(app, run.runId),
    onFact: ({ fact }) => void (fact.kind === 'thought' && thoughts.set(fact.m, fact)),
  });
  const recovered = createRecovery(urls);
  let asked = 0;
  const overHttp = async (kind: Kind, of: string | undefined): Promise<Outcome> => {
    const first = of === undefined ? asked : urls.indexOf(of);
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const url = urls[(first + attempt) % urls.length] ?? '';
      const outcome = await post(url, { ...options, headers: headersOf(kind, run.runId) }).catch(() => undefined);
      if (outcome !== undefined) return outcome;
      await recovered();
    }
    return 'no answer';
  };
  const byThinkWork = async (): Promise<Outcome> => {
    const work = workOf(options, asked);
    await publishWork(bus, work, newTraceContext());
    const what = `thought ${work.m}`;
    const { outcome, error } = await eventually(() => thoughts.get(work.m), { withinMs: answeredWithinMs, what });
    if (outcome === 'reply') return 'answered';
    return error?.code === 'budget_exceeded' ? 'refused' : `${error?.code}: ${error?.message}`;
  };
  return {
    async ask(kind, url) {
      asked += 1;
      return kind === 'think work' ? await byThinkWork() : await overHttp(kind, url);
    },
    stop: () => following.stop(),
  };
}

function headersOf(kind: Kind, runId: string): Record<string, string> {
  return {
    ...(kind === 'run, keyed' ? { 'idempotency-key': randomUUID() } : {}),
    ...(kind === 'app' ? {} : { 'x-pawl-run': runId }),
  };
}

/** Undefined when the gateway can't work now. */
async function post(
  url: string,
  { key, maxTokens, headers }: CallsOptions & { headers: Record<string, string> },
): Promise<Outcome | undefined> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'smart', max_tokens: maxTokens, messages }),
  });
  const text = await response.text();
  if (response.status === 503) return undefined;
  if (response.status === 200) return 'answered';
  return response.status === 402 ? 'refused' : `HTTP ${response.status}: ${text}`;
}

function workOf({ app, run, maxTokens }: CallsOptions, m: number): ThinkWork {
  return {
    v: 1,
    kind: 'think',
    app,
    runId: run.runId,
    m,
    agent: 'analyst',
    purpose: 'think',
    lane: 'interactive',
    route: 'smart',
    messages,
    tools: [],
    maxOutputTokens: maxTokens,
    runSpendLimitNanoUsd: run.limitNanoUsd.toString(),
    deadlineAt: new Date(Date.now() + 600_000).toISOString(),
  };
}

/** When a gateway can work again, whoever asks. */
function createRecovery(urls: readonly string[]): () => Promise<unknown> {
  let recovering: Promise<unknown> | undefined;
  const isReady = (url: string) =>
    fetch(`${url}/healthz/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  const isAnyReady = async () => (await Promise.all(urls.map(isReady))).includes(true);
  return () => {
    recovering ??= eventually(isAnyReady, { withinMs: 60_000 }).finally(() => (recovering = undefined));
    return recovering;
  };
}
