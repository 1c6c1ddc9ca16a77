/** A gateway with route `smart`, whose model is `big-1`, and the official client in front of it. */
import OpenAI from 'openai';
import type { TestServers } from '@pawl/testkit';
import { routeObject } from './gateway-bench.ts';
import { openModelBench, type ModelBench } from './model-bench.ts';

export type OpenAiBench = {
  bench: ModelBench;
  /** Tries twice again, as it does by default. */
  client: OpenAI;
  /** A client of which it is known when it sent its requests. */
  countingClient(): { client: OpenAI; sentAtMs: number[] };
  /** Lines of calls over HTTP, newest first. */
  ledger(): Promise<Record<string, unknown>[]>;
  /** What is held on all counters together. */
  held(): Promise<string | undefined>;
};

export const ask = { model: 'smart', messages: [{ role: 'user' as const, content: 'Why did sales drop?' }] };
export const usage = { prompt_tokens: 40, completion_tokens: 5 };

export async function openOpenAiBench(servers: TestServers): Promise<OpenAiBench> {
  const bench = await openModelBench(servers);
  await bench.put(routeObject('smart', { baseUrl: bench.model.baseUrl, model: 'big-1' }));
  const options = { apiKey: bench.appKey, baseURL: `${bench.gateway.url}/v1`, maxRetries: 2, logLevel: 'off' as const };
  return {
    bench,
    client: new OpenAI(options),
    countingClient() {
      const sentAtMs: number[] = [];
      const counting: typeof fetch = async (url, init) => {
        sentAtMs.push(performance.now());
        return await fetch(url, init);
      };
      return { client: new OpenAI({ ...options, fetch: counting }), sentAtMs };
    },
    ledger: () => bench.database.query(`select * from gateway.ledger where run_id like 'chat_%' order by at desc`),
    async held() {
      const [row] = await bench.database.query<{ held: string }>(
        'select coalesce(sum(held), 0) as held from gateway.counters',
      );
      return row?.held;
    },
  };
}
