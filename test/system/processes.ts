/** The four services as processes of their own, which a test may kill and start again; the model runs in the test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, startChild, type Child, type ChildExit } from '@pawl/devstack';
import { createSim, type Sim, type SimModel } from '@pawl/sim';
import { eventually, type TestServers } from '@pawl/testkit';
import { adminKey, createApi, createKey, type Api, type Urls } from './api.ts';

export const serviceNames = ['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store'] as const;
export type ServiceName = (typeof serviceNames)[number];

export type Processes = {
  sim: Sim;
  urls: Urls;
  /** Where the models of the test answer chat completions. */
  modelUrl: string;
  api: Api;
  /** SIGKILL, at once, without a goodbye. */
  kill(name: ServiceName): Promise<void>;
  /** Starts a service again where it was, and waits until it is ready. */
  start(name: ServiceName): Promise<void>;
  /** Stops a service's process as if its machine stood still, until `thaw`. */
  freeze(name: ServiceName): void;
  thaw(name: ServiceName): void;
  /** The replica that was there from the beginning. */
  replica(name: ServiceName): Replica;
  /** Starts one more replica of a service, which lives until `stop` at the latest. */
  startSpare(name: ServiceName): Promise<Replica>;
  stop(): Promise<void>;
};

/** A replica at an address of its own. */
export type Replica = {
  url: string;
  /** SIGTERM; gives how it ended. It is killed when it takes longer than three minutes. */
  stop(): Promise<ChildExit>;
};

const root = fileURLToPath(new URL('../..', import.meta.url));

type ProcessesOptions = {
  servers: TestServers;
  models: Record<string, SimModel>;
  environment?: Record<string, string>;
};

/** Brings up everything and gives app `demo` a key and the routes `smart` and `fast` to the first model. */
export async function startProcesses(options: ProcessesOptions): Promise<Processes> {
  const logs = await mkdtemp(join(tmpdir(), 'pawl-logs-'));
  const launch = await createLauncher(options, logs);
  const children = new Map<ServiceName, Child>();
  const spares: Child[] = [];
  const signal = (name: ServiceName, sent: NodeJS.Signals) => {
    const pid = children.get(name)?.pid;
    if (pid !== undefined) process.kill(pid, sent);
  };
  const start = async (name: ServiceName) => void children.set(name, await launch.start(name));
  for (const name of serviceNames) await launch.migrate(name);
  await Promise.all(serviceNames.map(start));

  const sim = createSim({ models: options.models });
  const { url: simUrl } = await sim.start();
  const { urls } = launch;
  const api = createApi({ urls, key: await createKey(urls.llmGateway) });
  const model = Object.keys(options.models)[0] ?? 'none';
  for (const route of ['smart', 'fast']) await api.putRoute(route, { model, baseUrl: `${simUrl}/v1` });
  return {
    sim,
    urls,
    modelUrl: `${simUrl}/v1/chat/completions`,
    api,
    start,
    async kill(name) {
      const child = children.get(name);
      child?.kill();
      await child?.exited;
    },
    freeze: (name) => signal(name, 'SIGSTOP'),
    thaw: (name) => signal(name, 'SIGCONT'),
    replica(name) {
      const child = children.get(name);
      if (!child) throw new Error(`${name} was not started`);
      return replicaOf(launch.urlOf(name), child);
    },
    async startSpare(name) {
      const port = await freePort(0);
      const child = await launch.start(name, port);
      spares.push(child);
      return replicaOf(launch.urlOf(name, port), child);
    },
    async stop() {
      await Promise.all([...children.values(), ...spares].map((child) => child.stop()));
      await sim.stop();
      await rm(logs, { recursive: true, force: true });
    },
  };
}

function replicaOf(url: string, child: Child): Replica {
  return { url, stop: () => child.stop(180_000) };
}

/** Starts programs of services, each always on the same port unless another is given; their logs stay where a failure names them. */
async function createLauncher(options: ProcessesOptions, logs: string) {
  const ports = new Map<ServiceName, number>();
  for (const name of serviceNames) ports.set(name, await freePort(0));
  const urlOf = (name: ServiceName, port = ports.get(name)) => `http://127.0.0.1:${port}`;
  const spawn = (name: ServiceName, script: string, port = ports.get(name)) =>
    startChild({
      command: process.execPath,
      args: [join(root, 'services', name, 'src', script)],
      logFile: join(logs, `${name}.log`),
      cwd: root,
      env: {
        PATH: process.env['PATH'] ?? '',
        PAWL_NATS_URL: options.servers.natsUrl,
        PAWL_DATABASE_URL: options.servers.databaseUrl,
        PAWL_PORT: String(port),
        PAWL_ORCHESTRATOR_URL: urlOf('orchestrator'),
        PAWL_HOST: '127.0.0.1',
        PAWL_ADMIN_KEY: adminKey,
        PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1,localhost',
        PAWL_LOG_LEVEL: 'warn',
        ...options.environment,
      },
    });
  return {
    urlOf,
    urls: {
      orchestrator: urlOf('orchestrator'),
      toolRunner: urlOf('tool-runner'),
      llmGateway: urlOf('llm-gateway'),
      traceStore: urlOf('trace-store'),
    },
    async migrate(name: ServiceName) {
      const { code } = await spawn(name, 'migrate.ts').exited;
      if (code !== 0) throw new Error(`the migration of ${name} failed, see ${logs}`);
    },
    async start(name: ServiceName, port?: number): Promise<Child> {
      const child = spawn(name, 'main.ts', port);
      const isReady = () => fetch(`${urlOf(name, port)}/healthz/ready`).then((response) => response.ok);
      const ready = eventually(isReady, { withinMs: 60_000, what: `${name} gets ready, see ${logs}` });
      const outcome = await Promise.race([ready, child.exited]);
      if (outcome !== true) throw new Error(`${name} ended while starting, see ${logs}`);
      return child;
    },
  };
}
