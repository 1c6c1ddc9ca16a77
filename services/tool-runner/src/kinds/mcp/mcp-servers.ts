/**
 * The connections to the MCP servers of apps: one per server, made at its first use, shared by all calls, made anew once for
 * everybody who waits when it is lost (C14), and closed when nobody has used it for a while or when its declaration changed.
 */
import type { McpServer } from '@pawl/contracts';
import { refusal, type Failure } from '../../call/outcome.ts';
import type { Stage } from '../../results/result-store.ts';
import type { Targets } from '@pawl/service/targets';
import { fillSecrets, type AppSecrets, type SecretSource } from '../secrets.ts';
import { connectServer, type McpConnection } from './connect-server.ts';

/** Finds a declared server with its revision. */
export type FindMcpServer = (app: string, name: string) => { revision: string; object: McpServer } | undefined;

export type McpServers = {
  open(app: string, name: string): Promise<{ connection: McpConnection } | { failure: Failure }>;
  /** The next `open` connects anew, unless somebody has done so already. */
  lose(app: string, name: string, connection: McpConnection): void;
  /** Closes the connection to a server that has been removed. */
  forget(app: string, name: string): void;
  close(): Promise<void>;
};

export type McpServersOptions = {
  find: FindMcpServer;
  secrets: AppSecrets;
  targets: Targets;
  bytesMax: number;
  /** Where results go that are longer. */
  stage: Stage;
  /** Commands that may be started as child processes; `*` is any. */
  commands: readonly string[];
  /** `PATH` of child processes. */
  commandPath: string;
};

export function createMcpServers(options: McpServersOptions): McpServers {
  const pool = createPool();
  const keyOf = (app: string, name: string) => `${app}/${name}`;
  return {
    async open(app, name) {
      const found = options.find(app, name);
      if (!found) return { failure: refusal('tool_failed', `The MCP server ${name} of this tool is not declared.`) };
      const { spec } = found.object;
      const problem = commandProblem(spec, options.commands);
      if (problem !== undefined) return { failure: refusal('target_not_allowed', problem) };
      const headers = filled(spec.headers ?? {}, options.secrets(app));
      const environment = filled(spec.env ?? {}, options.secrets(app));
      const secret = filled({ secret: spec.oauth?.clientSecret ?? '' }, options.secrets(app));
      if ('failure' in headers) return headers;
      if ('failure' in secret) return secret;
      if ('failure' in environment) return environment;
      const { targets, bytesMax, stage, commandPath } = options;
      const oauth = spec.oauth && { ...spec.oauth, clientSecret: secret.values['secret'] ?? '' };
      const given = { PATH: commandPath, ...environment.values };
      const connection = await pool.get(keyOf(app, name), found.revision, () =>
        connectServer({ spec, headers: headers.values, environment: given, oauth, targets, bytesMax, stage }),
      );
      return { connection };
    },
    lose: (app, name, connection) => pool.drop(keyOf(app, name), connection),
    forget(app, name) {
      if (!options.find(app, name)) pool.drop(keyOf(app, name));
    },
    close: () => pool.close(),
  };
}

type Entry = {
  revision: string;
  connecting: Promise<McpConnection>;
  /** Set once it is there. */
  connection?: McpConnection;
  lastUsedAtMs: number;
};

type Pool = {
  get(key: string, revision: string, connect: () => Promise<McpConnection>): Promise<McpConnection>;
  /** Closes what is there, or only if it is this very connection. */
  drop(key: string, connection?: McpConnection): void;
  close(): Promise<void>;
};

const idleMs = 600_000;

/** One connection per key, shared by everybody who asks for it while it lives. */
function createPool(): Pool {
  const entries = new Map<string, Entry>();
  const drop = (key: string, entry: Entry) => {
    if (entries.get(key) === entry) entries.delete(key);
    void entry.connecting.then((connection) => connection.close()).catch(() => {});
  };
  const sweep = setInterval(() => {
    for (const [key, entry] of entries) if (performance.now() - entry.lastUsedAtMs > idleMs) drop(key, entry);
  }, idleMs / 4).unref();
  return {
    async get(key, revision, connect) {
      const known = entries.get(key);
      const isUsable = known?.revision === revision && !(await isOver(known));
      if (known && isUsable) {
        known.lastUsedAtMs = performance.now();
        return await known.connecting;
      }
      // Another caller may have connected in the meantime.
      const newer = entries.get(key);
      if (newer && newer !== known && newer.revision === revision) return await newer.connecting;
      if (known) drop(key, known);
      const entry: Entry = { revision, connecting: connect(), lastUsedAtMs: performance.now() };
      entries.set(key, entry);
      entry.connecting.then(
        (connection) => void (entry.connection = connection),
        () => entries.get(key) === entry && entries.delete(key),
      );
      return await entry.connecting;
    },
    drop(key, connection) {
      const entry = entries.get(key);
      if (entry && (connection === undefined || entry.connection === connection)) drop(key, entry);
    },
    async close() {
      clearInterval(sweep);
      const all = [...entries.values()];
      entries.clear();
      const closings = all.map(({ connecting }) => connecting.then((each) => each.close()).catch(() => {}));
      await Promise.all(closings);
    },
  };
}

async function isOver(entry: Entry): Promise<boolean> {
  return await entry.connecting.then(
    (connection) => connection.isClosed(),
    () => true,
  );
}

/** A sentence on why a server's command may not be started, or undefined. */
export function commandProblem({ command }: McpServer['spec'], allowed: readonly string[]): string | undefined {
  if (command === undefined || allowed.includes('*') || allowed.includes(command)) return undefined;
  return `The command ${command.slice(0, 100)} is not among those that the operator allows (PAWL_MCP_COMMANDS).`;
}

function filled(
  templates: Readonly<Record<string, string>>,
  secrets: SecretSource,
): { values: Record<string, string> } | { failure: Failure } {
  const values: Record<string, string> = {};
  for (const [name, template] of Object.entries(templates)) {
    const result = fillSecrets(template, secrets);
    if ('failure' in result) return result;
    values[name] = result.text;
  }
  return { values };
}
