/** Looks at two counters and at the provider's meter all the time, and keeps what must never be. */
import type { Database } from '@pawl/db';

export type Amounts = { held: bigint; spent: bigint };
/** `rowsOfDead`: holds and slices of the process that was killed. */
export type Look = { app: Amounts; run: Amounts; rowsOfDead: number };

export type WatchOptions = {
  database: Database;
  appKey: string;
  runKey: string;
  limits: { app: bigint; run: bigint };
  /** What the provider would bill: for all calls, and without those that died with their gateway. */
  metered(): { all: bigint; living: bigint };
  /** Its name in Postgres, and how much it had there when it was killed. */
  dead?: { owner: string; rows: number };
};

export type Watched = { looks: number; most: { app: bigint; run: bigint }; wrong: string[] };

/** What is held and spent at one moment. */
export async function look({ database, appKey, runKey, dead }: WatchOptions): Promise<Look> {
  const [row] = await database.query<{ counters: Record<string, [string, string]>; rows: number }>(
    `select (select coalesce(jsonb_object_agg(key, jsonb_build_array(held::text, spent::text)), '{}')
               from gateway.counters where key in ($1, $2)) as counters,
            (select count(*)::integer from gateway.holds where owner = $3)
              + (select count(*)::integer from gateway.slices where owner = $3) as rows`,
    [appKey, runKey, dead?.owner ?? null],
  );
  const amountsOf = (key: string): Amounts => {
    const [held, spent] = row?.counters[key] ?? ['0', '0'];
    return { held: BigInt(held), spent: BigInt(spent) };
  };
  return { app: amountsOf(appKey), run: amountsOf(runKey), rowsOfDead: row?.rows ?? 0 };
}

/**
 * At every look: what is charged and held is within both limits, and so is the provider's meter. What died with its gateway is held
 * until its time is over; after that it is not in the books any more, so it is left out of the meter then.
 */
export function watch(options: WatchOptions): { stop(): Promise<Watched> } {
  const { limits, metered } = options;
  const watched: Watched = { looks: 0, most: { app: 0n, run: 0n }, wrong: [] };
  let isDone = false;
  const note = (meter: ReturnType<WatchOptions['metered']>, seen: Look) => {
    watched.looks += 1;
    for (const of of ['app', 'run'] as const) {
      const used = seen[of].held + seen[of].spent;
      if (used > watched.most[of]) watched.most[of] = used;
      if (used > limits[of]) watched.wrong.push(`${of}: ${used} of ${limits[of]}`);
    }
    const isDeadHeld = options.dead === undefined || options.dead.rows === seen.rowsOfDead;
    const billed = isDeadHeld ? meter.all : meter.living;
    if (billed > limits.app) watched.wrong.push(`meter: ${billed} of ${limits.app}`);
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
