/** Looks at two counters and at the provider's meter all the time, and keeps what must never be. */
import type { Database } from '@pawl/db';

export type Amounts = { held: bigint; spent: bigint };
export type Look = { app: Amounts; run: Amounts; lost: bigint };

export type WatchOptions = {
  database: Database;
  appKey: string;
  runKey: string;
  limits: { app: bigint; run: bigint };
  metered(): bigint;
};

export type Watched = { looks: number; most: { app: bigint; run: bigint }; wrong: string[] };

/** What is held and spent at one moment, and what the books name as held for calls whose process died. */
export async function look({ database, appKey, runKey }: WatchOptions): Promise<Look> {
  const rows = await database.query<{ key: string; held: string; spent: string; lost: string }>(
    `select c.key, c.held, c.spent,
            (select coalesce(sum(held_nano_usd), 0) from gateway.ledger where stop_kind = 'lost') as lost
       from gateway.counters c where c.key in ($1, $2)`,
    [appKey, runKey],
  );
  const amountsOf = (key: string): Amounts => {
    const row = rows.find((one) => one.key === key);
    return { held: BigInt(row?.held ?? 0), spent: BigInt(row?.spent ?? 0) };
  };
  return { app: amountsOf(appKey), run: amountsOf(runKey), lost: BigInt(rows[0]?.lost ?? 0) };
}

/**
 * At every look: what is charged and held is within both limits; and the provider has no more on its meter than the limit and what the
 * books call lost, since a call that died may have been billed and its hold was given back.
 */
export function watch(options: WatchOptions): { stop(): Promise<Watched> } {
  const { limits, metered } = options;
  const watched: Watched = { looks: 0, most: { app: 0n, run: 0n }, wrong: [] };
  let isDone = false;
  const note = (meter: bigint, seen: Look) => {
    watched.looks += 1;
    for (const of of ['app', 'run'] as const) {
      const used = seen[of].held + seen[of].spent;
      if (used > watched.most[of]) watched.most[of] = used;
      if (used > limits[of]) watched.wrong.push(`${of}: ${used} of ${limits[of]}`);
    }
    if (meter > limits.app + seen.lost) watched.wrong.push(`meter: ${meter} of ${limits.app} and ${seen.lost} lost`);
  };
  const watching = (async () => {
    while (!isDone) {
      const meter = metered();
      const seen = await look(options).catch(() => undefined);
      if (seen) note(meter, seen);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  return {
    async stop() {
      isDone = true;
      await watching;
      return watched;
    },
  };
}
