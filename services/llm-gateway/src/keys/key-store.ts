/**
 * Keys of apps. Postgres is the truth; the bucket that every service watches is a copy, made again at each start, so that
 * a lost bucket heals. A key itself is kept nowhere: only its SHA-256.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Keys } from '@pawl/bus';
import { sha256, type KeyRecord, type Scope } from '@pawl/contracts';
import type { Queryable } from '@pawl/db';

export type KeyStore = {
  /** Makes a key. It works on every service as soon as this resolves and the bucket's watchers have heard of it. */
  create(of: { app: string; scopes: Scope[]; expiresAt: string | null }): Promise<{ key: string; record: KeyRecord }>;
  /**
   * Makes a key in place of another, with its app, scopes and end; both work for `overlapMs`. Undefined when there is no live key
   * with this id.
   */
  rotate(id: string, overlapMs: number): Promise<{ key: string; record: KeyRecord } | undefined>;
  /** Ends a key for good; whether there was a live one with this id. */
  revoke(id: string): Promise<boolean>;
  /** Puts every live key into the bucket again, and takes revoked ones out. Safe to repeat. */
  restore(): Promise<number>;
};

type Row = { id: string; app: string; hash: string; scopes: Scope[]; expires_at: Date | null; revoked_at: Date | null };

export function createKeyStore(database: Queryable, keys: Keys): KeyStore {
  const create: KeyStore['create'] = async ({ app, scopes, expiresAt }) => {
    const key = `pawl_${randomBytes(32).toString('base64url')}`;
    const record: KeyRecord = { id: `key_${randomUUID().replaceAll('-', '')}`, app, scopes, expiresAt };
    const hash = sha256(key);
    await database.query('insert into gateway.keys (id, app, hash, scopes, expires_at) values ($1, $2, $3, $4, $5)', [
      record.id,
      app,
      hash,
      scopes,
      expiresAt,
    ]);
    await keys.put(hash, record);
    return { key, record };
  };
  return {
    create,
    async rotate(id, overlapMs) {
      // The new key has the end that the old one had before.
      const [old] = await database.query<Row & { ends_at: Date | null }>(
        `with old as (
           select * from gateway.keys
             where id = $1 and revoked_at is null and (expires_at is null or expires_at > now()) for update
         )
         update gateway.keys k
           set expires_at = least(old.expires_at, now() + $2 * interval '1 millisecond')
           from old where k.id = old.id
           returning k.*, old.expires_at as ends_at`,
        [id, overlapMs],
      );
      if (!old) return undefined;
      const { app, scopes } = old;
      const made = await create({ app, scopes, expiresAt: old.ends_at?.toISOString() ?? null });
      await keys.put(old.hash, { id, app, scopes, expiresAt: old.expires_at?.toISOString() ?? null });
      return made;
    },
    async revoke(id) {
      const [row] = await database.query<{ hash: string }>(
        'update gateway.keys set revoked_at = now() where id = $1 and revoked_at is null returning hash',
        [id],
      );
      if (row) await keys.remove(row.hash);
      return row !== undefined;
    },
    async restore() {
      const rows = await database.query<Row>(
        'select id, app, hash, scopes, expires_at, revoked_at from gateway.keys where expires_at is null or expires_at > now()',
      );
      for (const { hash, id, app, scopes, expires_at, revoked_at } of rows) {
        if (revoked_at) await keys.remove(hash);
        else await keys.put(hash, { id, app, scopes, expiresAt: expires_at?.toISOString() ?? null });
      }
      return rows.length;
    },
  };
}
