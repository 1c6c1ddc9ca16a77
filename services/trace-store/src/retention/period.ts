/**
 * Where a run is kept: its class of retention, and the week of its birth, which its id tells. Pure.
 * The same run always has the same place, whoever asks and whenever, so that a repeated delivery finds its row.
 */
import { runIdSchema } from '@pawl/contracts';

const weekMs = 604_800_000;
/** How far a run's start may be from the time in its id. */
const birthSlackMs = weekMs;

/** The class of an app that was given none. */
export const standardClass = 'standard';
/** The class of what is under legal hold when its week goes. */
export const heldClass = 'held';

/** A leaf of the partitioned tables: `runs_<class>_w<week>` and its siblings. Week 0 began on 1 January 1970. */
export type Place = { class: string; week: number };

/** Since when an app's runs are in a class. */
export type ClassChange = { app: string; sinceMs: number; class: string };

/** When a run was born, in ms: the time of the UUID version 7 in its id. Throws TypeError for what is no run id. */
export function bornAtMs(runId: string): number {
  if (!runIdSchema.safeParse(runId).success) throw new TypeError('not the id of a run');
  return Number.parseInt(runId.slice(4, 16), 16);
}

/** A run id with the given time and 80 bits (20 hex digits) of `rest`. */
export function runIdFrom(bornMs: number, rest: string): string {
  return `run_${hexTime(bornMs)}7${rest.slice(0, 19)}`;
}

/** How long before now a trace of another agent may have begun and still lie in the week in which it did. */
const foreignBackDays = 400;

/**
 * When a trace of another agent counts as born. Clocks of strangers are no reason to make tables: what claims to begin later
 * than tomorrow is born tomorrow, and what is older than any that is looked for by time lies in one week, the first of all.
 */
export function foreignBirthMs(startedMs: number, nowMs: number): number {
  const dayMs = 86_400_000;
  if (startedMs < nowMs - foreignBackDays * dayMs) return startedMs % weekMs;
  return Math.min(startedMs, nowMs + dayMs);
}

export type Bind = (value: unknown) => string;

/**
 * Conditions that hold for the ids of all runs that were listed within a range of ISO times, so that few weeks are looked at.
 * `bind` takes a value and gives how SQL names it. Nobody is born after `nowMs`, whatever the range.
 */
export function bornWithin(
  range: { from?: string | undefined; to?: string | undefined },
  bind: Bind,
  { nowMs, column = 'run_id' }: { nowMs: number; column?: string },
): string[] {
  const idAt = (atMs: number) => bind(runIdFrom(atMs, ''));
  const conditions: string[] = [];
  if (range.from !== undefined) {
    const earliest = idAt(Math.min(Date.parse(range.from), nowMs) - birthSlackMs);
    conditions.push(`(${column} >= ${earliest} or ${column} < ${idAt(weekMs)})`);
  }
  if (range.to !== undefined) conditions.push(`${column} < ${idAt(Date.parse(range.to) + birthSlackMs)}`);
  return conditions;
}

/** Where a run belongs. */
export function placeOf(run: { app: string; runId: string }, changes: readonly ClassChange[]): Place {
  const bornMs = bornAtMs(run.runId);
  let latest: ClassChange | undefined;
  for (const change of changes) {
    if (change.app !== run.app || change.sinceMs > bornMs) continue;
    if (!latest || change.sinceMs > latest.sinceMs) latest = change;
  }
  return { class: latest?.class ?? standardClass, week: Math.floor(bornMs / weekMs) };
}

/** The end of the name of a place's tables. */
export function suffixOf({ class: name, week }: Place): string {
  return `${name}_w${week}`;
}

/** The run ids of a week: the first one, and the first one after. */
export function boundsOf(week: number): { lower: string; upper: string } {
  return { lower: `run_${hexTime(week * weekMs)}`, upper: `run_${hexTime((week + 1) * weekMs)}` };
}

/** The week of a moment. */
export function weekOf(atMs: number): number {
  return Math.floor(atMs / weekMs);
}

/** Whether every run of a week is older than `keptDays`; never where there is no limit. */
export function isExpired(week: number, keptDays: number | undefined, nowMs: number): boolean {
  return keptDays !== undefined && (week + 1) * weekMs + keptDays * 86_400_000 <= nowMs;
}

function hexTime(atMs: number): string {
  return Math.max(0, Math.floor(atMs)).toString(16).padStart(12, '0');
}
