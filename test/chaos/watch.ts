/** Looks at two counters and at the provider's meter all the time, and keeps what must never be. */
import type { Database } from '@pawl/db';

export type Amounts = { held: bigint; spent: bigint };
/** `ofDead`: what is held on the app's budget for the process that was killed, slices included. */
export type Look = { app: Amounts; run: Amounts; ofDead: bigint };

export type WatchOptions = {
  database: Database;
  appKey: string;
  runKey: string;
  limits: { app: bigint; run: bigint };
  /** What the provider would bill. */
  metered(): bigint;
  /** The name in Postgres of the process that was killed, and what was held for it then. */
  dead?: { owner: string; held: bigint };
};

export type Watched = { looks: number; most: { app: bigint; run: bigint }; wrong: string[] };

/** What is held and spent at one moment. */
export async function look({ database, appKey, runKey, dead }: WatchOptions): Promise<Look> {
  const [row] = await database.query<{ counters: Record<string, [string, string]>; dead: string }>(
    `select (select coalesce(jsonb_object_agg(key, jsonb_build_array(held::text, spent::text)), '{}')
               from gateway.counters where key in ($1, $2)) as counters,
            (select coalesce(sum(u.amount), 0) from gateway.holds h, unnest(h.keys, h.amounts) as u(key, amount)
               where h.owner = $3 and u.key = $1)
              + (select coalesce(sum(amount), 0) from gateway.slices where owner = $3 and key = $1) as dead`,
    [appKey, runKey, dead?.owner ?? null],
  );
  const amountsOf = (key: string): Amounts => {
    const [held, spent] = row?.counters[key] ?? ['0', '0'];
    return { held: BigInt(held), spent: BigInt(spent) };
  };
  return { app: amountsOf(appKey), run: amountsOf(runKey), ofDead: BigInt(row?.dead ?? 0) };
}

/**
 * At every look: what is charged and held is within both limits, and so is the provider's meter. What may have died with its gateway
 * is held until its time is over; from then on the meter may be above the limit by that, and by no more.
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
    const lapsed = (options.dead?.held ?? 0n) - seen.ofDead;
    if (meter > limits.app + lapsed) watched.wrong.push(`meter: ${meter} of ${limits.app} and ${lapsed} lapsed`);
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
