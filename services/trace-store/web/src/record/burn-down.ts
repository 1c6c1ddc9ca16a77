/** How what is left of a budget went down in its window, and when it will be gone if it goes on like that. Pure. */

export type Spent = { at: string; size: number };

export type BurnDown = {
  /** When the curve begins and where it would end, as times. */
  fromMs: number;
  toMs: number;
  /** What was left at the end of each hour or day that something was spent in; begins whole and ends now. */
  points: { atMs: number; left: number }[];
  /** When nothing is left, at the pace of the window so far; absent when it lasts. */
  goneAtMs?: number;
};

export type BurnDownOptions = {
  limit: number;
  window: { from: string | null; to: string | null };
  spent: readonly Spent[];
  /** Length of the hours or days that `spent` is summed by. */
  stepMs: number;
  nowMs: number;
};

/** Undefined where there is no window to draw: it has no beginning, or nothing was spent. */
export function burnDownOf({ limit, window, spent, stepMs, nowMs }: BurnDownOptions): BurnDown | undefined {
  const steps = spent
    .map(({ at, size }) => ({ atMs: Date.parse(at), size }))
    .toSorted((one, other) => one.atMs - other.atMs);
  const [first] = steps;
  if (!first || limit <= 0) return undefined;
  const fromMs = window.from === null ? first.atMs : Date.parse(window.from);
  const toMs = window.to === null ? nowMs : Date.parse(window.to);
  let left = limit;
  const points = [{ atMs: fromMs, left }];
  for (const { atMs, size } of steps) {
    left -= size;
    points.push({ atMs: Math.max(fromMs, Math.min(atMs + stepMs, nowMs)), left });
  }
  if (points.at(-1)?.atMs !== nowMs) points.push({ atMs: nowMs, left });
  return { fromMs, toMs, points, ...goneOf({ limit, left, fromMs, toMs, nowMs }) };
}

function goneOf(of: { limit: number; left: number; fromMs: number; toMs: number; nowMs: number }) {
  const used = of.limit - of.left;
  if (of.left <= 0 || used <= 0) return {};
  const goneAtMs = of.nowMs + (of.left / used) * (of.nowMs - of.fromMs);
  return goneAtMs < of.toMs ? { goneAtMs } : {};
}
