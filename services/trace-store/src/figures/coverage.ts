/** Which part of a range of time can be read from figures that are counted already, and which has to be counted now. Pure. */

/** Unix milliseconds: from, and up to but without. */
export type Span = { fromMs: number; toMs: number };

export type Coverage = {
  /** Whole hours that are counted, but for those that are outdated. */
  counted: Span | undefined;
  /** Beginnings of hours within, that have changed since. */
  outdated: number[];
  /** What has to be counted now, in order: what is not counted, and what is outdated. */
  direct: Span[];
};

export const hourMs = 3_600_000;
/** More pieces than this are counted as one. */
const piecesMax = 24;

/** How a range is covered, given which hours are counted and which of them are outdated. */
export function coverageOf(range: Span, counted: Span | undefined, outdatedMs: readonly number[]): Coverage {
  const fromMs = Math.max(Math.ceil(range.fromMs / hourMs) * hourMs, counted?.fromMs ?? Infinity);
  const toMs = Math.min(Math.floor(range.toMs / hourMs) * hourMs, counted?.toMs ?? -Infinity);
  if (fromMs >= toMs) return { counted: undefined, outdated: [], direct: [range] };
  const outdated = [...new Set(outdatedMs)].filter((hour) => hour >= fromMs && hour < toMs).toSorted((a, b) => a - b);
  const pieces = joined(outdated.map((hour) => ({ fromMs: hour, toMs: hour + hourMs })));
  const [first, last] = [pieces[0], pieces.at(-1)];
  const isTooMany = pieces.length > piecesMax && first !== undefined && last !== undefined;
  const within = isTooMany ? [{ fromMs: first.fromMs, toMs: last.toMs }] : pieces;
  const direct = [{ fromMs: range.fromMs, toMs: fromMs }, ...within, { fromMs: toMs, toMs: range.toMs }];
  return {
    counted: { fromMs, toMs },
    outdated: within.flatMap(hoursOf),
    direct: direct.filter((span) => span.fromMs < span.toMs),
  };
}

/** Hours that follow each other become one piece. */
function joined(hours: readonly Span[]): Span[] {
  const pieces: Span[] = [];
  for (const hour of hours) {
    const before = pieces.at(-1);
    if (before?.toMs === hour.fromMs) before.toMs = hour.toMs;
    else pieces.push({ ...hour });
  }
  return pieces;
}

function hoursOf({ fromMs, toMs }: Span): number[] {
  return Array.from({ length: (toMs - fromMs) / hourMs }, (_, at) => fromMs + at * hourMs);
}
