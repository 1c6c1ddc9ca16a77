/**
 * Connections to the data sources of apps: one bounded pool per source, made at its first use, replaced when the source changes.
 */
import pg from 'pg';
import type { DataSource } from '@pawl/contracts';
import { refusal, type Failure } from '../../call/outcome.ts';
import type { Targets } from '@pawl/service/targets';
import { fillSecrets, secretNamesIn, type AppSecrets } from '../secrets.ts';

/** Finds a declared data source with its revision. */
export type FindDataSource = (app: string, name: string) => { revision: string; object: DataSource } | undefined;

export type SqlSource = { pool: pg.Pool; tables: readonly string[] | undefined };

export type SqlSources = {
  open(app: string, name: string): Promise<{ source: SqlSource } | { failure: Failure }>;
  close(): Promise<void>;
};

export type SqlSourcesOptions = {
  find: FindDataSource;
  secrets: AppSecrets;
  targets: Targets;
  /** Connections to one source at the most. */
  connectionsMax: number;
};

/** Where a source is, and whether the app says so. */
type SourceAddress = { url: string; isFromApp: boolean };

const connectTimeoutMs = 5_000;

export function createSqlSources({ find, secrets, targets, connectionsMax }: SqlSourcesOptions): SqlSources {
  const pools = new Map<string, { source: SourceAddress; pool: pg.Pool }>();

  const poolOf = (key: string, source: SourceAddress): pg.Pool => {
    const known = pools.get(key);
    if (known?.source.url === source.url && known.source.isFromApp === source.isFromApp) return known.pool;
    if (known) void known.pool.end();
    const pool = new pg.Pool({
      connectionString: source.url,
      ...(source.isFromApp ? { stream: targets.createSocket } : {}),
      application_name: 'pawl-tool-runner',
      max: connectionsMax,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
    });
    pool.on('error', () => {});
    pools.set(key, { source, pool });
    return pool;
  };

  return {
    async open(app, name) {
      const found = find(app, name);
      if (!found) {
        return {
          failure: refusal('tool_failed', `The data source ${name} of this tool is not declared.`, 'Use another tool.'),
        };
      }
      const { postgres, tables } = found.object.spec;
      const filled = fillSecrets(postgres.url, secrets(app));
      if ('failure' in filled) return filled;
      const url = parsePostgresUrl(filled.text);
      if (!url)
        return { failure: refusal('tool_failed', `The address of the data source ${name} is not a postgres:// URL.`) };
      // An address that the operator set as a secret is the operator's word; one that an app wrote is checked like any target.
      const isFromApp = secretNamesIn(postgres.url).length === 0;
      return { source: { pool: poolOf(`${app}/${name}`, { url: filled.text, isFromApp }), tables } };
    },
    async close() {
      await Promise.all([...pools.values()].map(({ pool }) => pool.end()));
      pools.clear();
    },
  };
}

function parsePostgresUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'postgres:' || url?.protocol === 'postgresql:' ? url : undefined;
}
