/**
 * All of Pawl inside the test's own process, on real NATS and Postgres: the four services, a scripted model and one app.
 * For what needs separate processes, see `processes.ts`.
 */
import { createLog, startParts, stopParts, type Log, type Part } from '@pawl/service';
import { migrate } from '@pawl/db';
import { createSim, type Sim, type SimModel } from '@pawl/sim';
import * as gatewayConfig from '@pawl/llm-gateway/config';
import * as gatewaySchema from '@pawl/llm-gateway/schema';
import { createGateway } from '@pawl/llm-gateway/service';
import * as orchestratorConfig from '@pawl/orchestrator/config';
import * as orchestratorSchema from '@pawl/orchestrator/schema';
import { createOrchestrator } from '@pawl/orchestrator/service';
import * as toolRunnerConfig from '@pawl/tool-runner/config';
import * as toolRunnerSchema from '@pawl/tool-runner/schema';
import { createToolRunner } from '@pawl/tool-runner/service';
import * as traceStoreConfig from '@pawl/trace-store/config';
import * as traceStoreSchema from '@pawl/trace-store/schema';
import { createTraceStore } from '@pawl/trace-store/service';
import type { TestServers } from '@pawl/testkit';
import { adminKey, createApi, createKey, type Api, type Urls } from './api.ts';

export type Stack = {
  sim: Sim;
  urls: Urls;
  /** Speaks as app `demo`, with a key that may do everything. */
  api: Api;
  stop(): Promise<void>;
};

export type StackOptions = {
  servers: TestServers;
  models: Record<string, SimModel>;
  /** Further variables for the services. */
  environment?: Record<string, string>;
  /** Further variables for one of them. */
  environmentOf?(service: 'orchestrator' | 'llm-gateway' | 'tool-runner' | 'trace-store'): Record<string, string>;
};

/** Brings up everything and gives app `demo` a key and the routes `smart` and `fast` to the first model. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { natsUrl, databaseUrl } = options.servers;
  const environment = {
    PAWL_NATS_URL: natsUrl,
    PAWL_DATABASE_URL: databaseUrl,
    PAWL_PORT: '0',
    PAWL_HOST: '127.0.0.1',
    PAWL_ADMIN_KEY: adminKey,
    PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1,localhost',
    PAWL_LOG_LEVEL: 'error',
    ...options.environment,
  };
  const schemas = [orchestratorSchema, gatewaySchema, toolRunnerSchema, traceStoreSchema];
  for (const { schema } of schemas) await migrate({ url: databaseUrl, ...schema });

  const sim = createSim({ models: options.models });
  const { url: simUrl } = await sim.start();
  const log = (name: string): Log => createLog(name, environment.PAWL_LOG_LEVEL as 'error');
  const of: NonNullable<StackOptions['environmentOf']> = (service) => ({
    ...environment,
    ...options.environmentOf?.(service),
  });
  const orchestrator = await createOrchestrator(orchestratorConfig.loadConfig(of('orchestrator')), log('orchestrator'));
  const gateway = await createGateway(gatewayConfig.loadConfig(of('llm-gateway')), log('llm-gateway'));
  const toolRunner = await createToolRunner(toolRunnerConfig.loadConfig(of('tool-runner')), log('tool-runner'));
  const traceStore = await createTraceStore(traceStoreConfig.loadConfig(of('trace-store')), log('trace-store'));
  const services: { parts: Part[] }[] = [orchestrator, gateway, toolRunner, traceStore];
  for (const service of services) await startParts(service.parts);

  const urls = {
    orchestrator: orchestrator.url(),
    toolRunner: toolRunner.url(),
    llmGateway: gateway.url(),
    traceStore: traceStore.url(),
  };
  const key = await createKey(urls.llmGateway);
  const api = createApi({ urls, key });
  const model = Object.keys(options.models)[0] ?? 'none';
  for (const route of ['smart', 'fast']) await api.putRoute(route, { model, baseUrl: `${simUrl}/v1` });
  return {
    sim,
    urls,
    api,
    async stop() {
      for (const service of services.toReversed()) await stopParts(service.parts);
      await sim.stop();
    },
  };
}
