/** A gateway with route `smart` to a model whose every byte the test decides. */
import { expect } from 'vitest';
import type { Budget, ModelRoute, Thought, ThinkWork } from '@pawl/contracts';
import type { TestServers } from '@pawl/testkit';
import { callHttp, openBench, routeObject, thinkAbout, type Bench, type Gateway } from './gateway-bench.ts';
import { startModelServer, type ModelServer, type Respond } from './model-server.ts';

/** The value of the secret that route `smart` sends as its key. */
export const modelKey = 'sk-very-secret-value';

export type ModelBench = Omit<Bench, 'close'> & {
  gateway: Gateway;
  model: ModelServer;
  /** How the model answers from now on. */
  respond: Respond;
  /** Declares an object over HTTP. */
  put(object: ModelRoute | Budget): Promise<void>;
  thinkAbout(work: ThinkWork): Promise<Thought>;
  ledgerOf(runId: string): Promise<Record<string, unknown>[]>;
  countersOf(key: string): Promise<{ held: string; spent: string } | undefined>;
  close(): Promise<void>;
};

export async function openModelBench(
  servers: TestServers,
  environment: Record<string, string> = {},
): Promise<ModelBench> {
  const bench = await openBench(servers);
  const gateway = await bench.startGateway({ PAWL_SECRET_MODEL_KEY: modelKey, ...environment });
  const model = await startModelServer((response, request) => modelBench.respond(response, request));
  const modelBench: ModelBench = {
    ...bench,
    gateway,
    model,
    respond: () => {},
    async put(object) {
      const path = `/v1/${object.kind === 'Budget' ? 'budgets' : 'routes'}/${object.metadata.name}`;
      const { status, body } = await callHttp(gateway.url, { method: 'PUT', path, key: bench.appKey, body: object });
      expect({ status, kind: body['kind'] }).toEqual({ status: 200, kind: object.kind });
    },
    thinkAbout: (work) => thinkAbout(bench.bus, work),
    ledgerOf: (runId) => bench.database.query('select * from gateway.ledger where run_id = $1', [runId]),
    async countersOf(key) {
      const [row] = await bench.database.query<{ held: string; spent: string }>(
        'select held, spent from gateway.counters where key = $1',
        [key],
      );
      return row;
    },
    async close() {
      await gateway.stop();
      await model.stop();
      await bench.close();
    },
  };
  await modelBench.put(routeObject('smart', { baseUrl: model.baseUrl, apiKey: '${secret:MODEL_KEY}' }));
  return modelBench;
}
