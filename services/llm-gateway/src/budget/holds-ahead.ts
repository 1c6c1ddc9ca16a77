/**
 * Money that is set aside for the call that a run is likely to make next, as soon as its latest thought is in the books: so the
 * call needn't wait for Postgres. Replicas tell each other, since any of them may get the call.
 *
 * Invariants:
 * 1. It is used while it surely holds, and once at the most (I13). Who uses it asks Postgres all the same, beside the call.
 * 2. It takes a part of what is left, and is in nobody's way for long: it lapses, and who would be refused waits for that.
 */
import type { Bus } from '@pawl/bus';
import { subjects, UnavailableError } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';
import { outsideTraces } from '@pawl/telemetry';
import { z } from 'zod';
import type { Level } from './levels.ts';
import { aheadMs, type BudgetStore, type CallAddress } from './store.ts';

const subject = subjects.gatewayHint('ahead');
/** What clocks that differ and an answer on its way may take off. */
const marginMs = 2_000;
const everyMs = 1_000;
/** By then the thought's calls are on their way to their tools, and the processor is free. */
const beginAfterMs = 4;
/** It takes no more than such a part of what is left: others want what is left of a budget, hardly anybody what is left of a run. */
const partOfRest = { budget: 8n, run: 2n };

export type HoldingAhead = { levels: readonly Level[]; needs: readonly bigint[] };

export type HoldsAhead = Part & {
  /**
   * Begins to set aside what a call is likely to need; nothing waits for it. Left where holds and charges of other calls are under
   * way: under load it would cost more than it saves.
   */
  begin(call: CallAddress, holding: HoldingAhead): void;
  /** Whether what the call needs of every level is set aside for it. True once at the most. */
  take(call: CallAddress, holding: HoldingAhead): boolean;
};

/** What a level is told by: its key, the beginning of its window (Unix time in milliseconds), and how much of it. */
const amountSchema = z.tuple([z.string(), z.number(), z.string()]);
const messageSchema = z.object({
  from: z.string(),
  runId: z.string(),
  m: z.number(),
  /** Unix time in milliseconds. */
  lapsesAtMs: z.number(),
  amounts: z.array(amountSchema),
});
type Amount = z.infer<typeof amountSchema>;
type Message = z.infer<typeof messageSchema>;

export type HoldsAheadOptions = {
  bus: Bus;
  store: Pick<BudgetStore, 'holdAhead' | 'isIdle' | 'sweepHolds'>;
  log: Log;
  /** The name of this process. */
  owner: string;
  isOn: boolean;
};

export function createHoldsAhead({ bus, store, log, owner: from, isOn }: HoldsAheadOptions): HoldsAhead {
  const known = createTable();
  let isStopped = false;
  const subscription = bus.connection.subscribe(subject, {
    callback(error, received) {
      const message = error ? undefined : parse(received.string());
      if (!message || message.from === from) return;
      const leftMs = Math.min(message.lapsesAtMs - Date.now(), aheadMs);
      known.keep(message, message.amounts, performance.now() + leftMs);
    },
  });
  const setAside = async (call: CallAddress, { levels, needs }: HoldingAhead) => {
    const atMs = performance.now();
    const lapsesAtMs = Date.now() + aheadMs;
    const tight = levels.map((level, position) => withinShare(level, needs[position] ?? 0n));
    if (!(await store.holdAhead(call, { levels: tight, needs }))) return;
    const amounts = levels.map(({ key, window }, at): Amount => [key, window.fromMs, String(needs[at] ?? 0n)]);
    known.keep(call, amounts, atMs + aheadMs);
    const message: Message = { from, ...call, lapsesAtMs, amounts };
    if (bus.isConnected()) bus.connection.publish(subject, JSON.stringify(message));
  };
  const begin = async (call: CallAddress, holding: HoldingAhead) => {
    if (isStopped || !store.isIdle()) return;
    try {
      await outsideTraces(() => setAside(call, holding));
    } catch (error) {
      if (!(error instanceof UnavailableError)) log.error({ err: error, ...call }, 'nothing could be held ahead');
    }
  };
  const sweep = () =>
    store.sweepHolds().catch((error: unknown) => log.debug({ err: error }, 'what lapsed is given back later'));
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'holds-ahead',
    async start() {
      timer = setInterval(() => known.forgetLapsed() && void sweep(), everyMs);
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      subscription.unsubscribe();
    },
    begin(call, holding) {
      if (isOn) setTimeout(() => void begin(call, holding), beginAfterMs);
    },
    take: (call, holding) => known.take(call, holding),
  };
}

/** What is known to be held ahead; no I/O. Times are monotonic. */
function createTable() {
  const known = new Map<string, { amounts: ReadonlyMap<string, bigint>; lapsesAtMs: number }>();
  return {
    keep(call: CallAddress, amounts: readonly Amount[], lapsesAtMs: number): void {
      const byLevel = amounts.map(([key, fromMs, amount]) => [keyOfLevel(key, fromMs), BigInt(amount)] as const);
      known.set(keyOfCall(call), { amounts: new Map(byLevel), lapsesAtMs });
    },
    take(call: CallAddress, { levels, needs }: HoldingAhead): boolean {
      const ahead = known.get(keyOfCall(call));
      known.delete(keyOfCall(call));
      if (!ahead || ahead.lapsesAtMs - marginMs < performance.now()) return false;
      const amountOf = ({ key, window }: Level) => ahead.amounts.get(keyOfLevel(key, window.fromMs)) ?? -1n;
      return levels.every((level, position) => amountOf(level) >= (needs[position] ?? 0n));
    },
    /** Whether there was any. */
    forgetLapsed(): boolean {
      const before = known.size;
      for (const [call, { lapsesAtMs }] of known) if (lapsesAtMs < performance.now()) known.delete(call);
      return known.size < before;
    },
  };
}

/** A level of which the need may take its share of what is left, and no more. */
function withinShare(level: Level, need: bigint): Level {
  return { ...level, limit: level.limit - need * (partOfRest[level.kind] - 1n) };
}

function parse(text: string): Message | undefined {
  try {
    return messageSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function keyOfCall({ runId, m }: CallAddress): string {
  return `${runId}/${m}`;
}

function keyOfLevel(key: string, fromMs: number): string {
  return `${fromMs} ${key}`;
}
