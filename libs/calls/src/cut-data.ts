/**
 * Cuts the JSON text of a result to what the model may see at once, keeping both ends and staying valid JSON.
 * Tables and lists lose whole rows from their middle; anything else becomes a text with its middle left out.
 * Pure. The result never has more than `charsMax` characters (at least 200), and no digit in it is changed.
 */
import { sliceJson } from './json-slices.ts';
import { objectText } from './arguments.ts';

export type CutData = {
  data: string;
  /** One sentence on what was left out, or undefined when nothing was. */
  leftOut: string | undefined;
};

const charsFloor = 200;

/** Fits compact JSON text into `charsMax` characters. */
export function cutData(json: string, charsMax: number): CutData {
  const limit = Math.max(charsFloor, charsMax);
  if (json.length <= limit) return { data: json, leftOut: undefined };
  return cutList(json, limit) ?? cutMember(json, limit) ?? cutText(json, limit);
}

/** An array loses items from its middle; a text in their place says how many. */
function cutList(json: string, limit: number): CutData | undefined {
  const slices = sliceJson(json);
  if (slices.kind !== 'array') return undefined;
  const render = (head: string[], tail: string[], left: number) =>
    `[${[...head, JSON.stringify(`… ${left} items left out …`), ...tail].join(',')}]`;
  return fitItems(slices.items, { limit, unit: 'items', render });
}

/** An object with one large array, such as a table, loses items of that array and says so in a member of its own. */
function cutMember(json: string, limit: number): CutData | undefined {
  const slices = sliceJson(json);
  if (slices.kind !== 'object') return undefined;
  const largest = slices.members
    .filter((member) => member.value.startsWith('['))
    .toSorted((a, b) => b.value.length - a.value.length)[0];
  if (!largest) return undefined;
  const inner = sliceJson(largest.value);
  if (inner.kind !== 'array') return undefined;
  const others = slices.members.filter((member) => member.name !== `${largest.name}LeftOut`);
  const render = (head: string[], tail: string[], left: number) =>
    objectText([
      ...others.map((member): [string, string] =>
        member.name === largest.name ? [member.name, `[${[...head, ...tail].join(',')}]`] : [member.name, member.value],
      ),
      [`${largest.name}LeftOut`, String(left)],
    ]);
  return fitItems(inner.items, { limit, unit: largest.name, render });
}

type Fitting = {
  limit: number;
  unit: string;
  render: (head: string[], tail: string[], leftOutCount: number) => string;
};

/** Keeps as many items as fit, alternately from the front and the back; undefined when not even two fit. */
function fitItems(items: string[], { limit, unit, render }: Fitting): CutData | undefined {
  const attempt = (kept: number) => {
    const tailCount = Math.floor(kept / 2);
    const head = items.slice(0, kept - tailCount);
    const tail = tailCount === 0 ? [] : items.slice(-tailCount);
    return render(head, tail, items.length - kept);
  };
  const kept = largestThat(items.length - 1, (count) => attempt(count).length <= limit);
  if (kept < 2) return undefined;
  const left = items.length - kept;
  return { data: attempt(kept), leftOut: `${left} of ${items.length} ${unit} in the middle were left out.` };
}

/** A text keeps its head and tail. What is not a text is shown as the text of its JSON. */
function cutText(json: string, limit: number): CutData {
  const whole = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  const attempt = (kept: number) => {
    const tailCount = Math.floor(kept / 3);
    const head = whole.slice(0, kept - tailCount).replace(/[\uD800-\uDBFF]$/, '');
    const tail = tailCount === 0 ? '' : whole.slice(-tailCount).replace(/^[\uDC00-\uDFFF]/, '');
    const left = whole.length - head.length - tail.length;
    return { text: JSON.stringify(`${head}\n… ${left} characters left out …\n${tail}`), left };
  };
  // A character takes at least one place in JSON, so more than `limit` can't fit.
  const kept = largestThat(Math.min(whole.length - 1, limit), (count) => attempt(count).text.length <= limit);
  const { text, left } = attempt(Math.max(0, kept));
  return { data: text, leftOut: `${left} characters in the middle were left out.` };
}

/** JSON text of both ends of a text, of which only these are at hand. */
export function cutEnds(
  { head, tail, bytes }: { head: string; tail: string; bytes: number },
  charsMax: number,
): string {
  const limit = Math.max(charsFloor, charsMax);
  const attempt = (kept: number) => {
    const tailCount = Math.floor(kept / 3);
    const first = head.slice(0, kept - tailCount).replace(/[\uD800-\uDBFF]$/, '');
    const last = tailCount === 0 ? '' : tail.slice(-tailCount).replace(/^[\uDC00-\uDFFF]/, '');
    const left = bytes - Buffer.byteLength(first) - Buffer.byteLength(last);
    return JSON.stringify(`${first}\n… ${left} bytes left out …\n${last}`.toWellFormed());
  };
  return attempt(
    Math.max(
      0,
      largestThat(Math.min(limit, head.length), (count) => attempt(count).length <= limit),
    ),
  );
}

/** The largest count from 0 to `max` that fits, or -1; `fits` has to be true below it and false above. */
export function largestThat(max: number, fits: (count: number) => boolean): number {
  let low = -1;
  let high = max + 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}
