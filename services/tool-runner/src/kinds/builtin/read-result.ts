/** Pages by characters, lines or rows through a whole result of the same run that an observation showed only in part. */
import { sliceJson } from '../../arguments/json-slices.ts';
import { refusal, type Outcome } from '../../call/outcome.ts';

/** Where whole results are kept. */
export type ResultStore = {
  put(of: { app: string; runId: string; m: number; i: number }, text: string): Promise<string>;
  get(ref: string): Promise<string | undefined>;
};

export type ReadResult = {
  app: string;
  runId: string | undefined;
  ref: string;
  /** Where to begin: a character, or a line or row from 0; at most one of them is given. */
  offset: number;
  line?: number | undefined;
  row?: number | undefined;
  /** JSON Pointer (RFC 6901) to the part that is meant, such as `/rows/7/name`. */
  path?: string | undefined;
  /** Characters, lines or rows wanted; fewer where they would not fit into `maxChars` of JSON. */
  limit: number | undefined;
  maxChars: number;
};

/** A reference names its app and run; one of another run gets the same answer as one that doesn't exist. */
export async function readResult(results: ResultStore, asked: ReadResult): Promise<Outcome> {
  const isOwn = asked.runId !== undefined && asked.ref.startsWith(`${asked.app}/${asked.runId}/`);
  const text = isOwn ? await results.get(asked.ref) : undefined;
  if (text === undefined) {
    const suggestion = 'Use the ref of an earlier observation of this run whose result was truncated.';
    return refusal(
      'invalid_arguments',
      `/ref: there is no result under "${asked.ref.slice(0, 120)}" in this run.`,
      suggestion,
    );
  }
  const part = asked.path === undefined ? text : partAt(text, asked.path);
  if (part === undefined)
    return refusal('invalid_arguments', `/path: the result has nothing at "${asked.path?.slice(0, 120)}".`);
  if (asked.row !== undefined) return pageOfItems(rowsOf(part), asked.row, { asked, unit: 'row' });
  if (asked.line !== undefined) return pageOfItems(linesOf(part), asked.line, { asked, unit: 'line' });
  if (asked.offset > 0 && asked.offset >= part.length) {
    return refusal(
      'invalid_arguments',
      `/offset: expected less than ${part.length}, the characters of the result; got ${asked.offset}.`,
    );
  }
  return { kind: 'result', data: page(part, asked) };
}

/** JSON text of the part that a JSON Pointer names. */
function partAt(json: string, pointer: string): string | undefined {
  let part: string | undefined = json;
  const steps = pointer === '' ? [] : pointer.replace(/^\//, '').split('/');
  for (const step of steps.slice(0, 64)) {
    if (part === undefined) return undefined;
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const slices = sliceJson(part);
    if (slices.kind === 'array') part = /^\d+$/.test(name) ? slices.items[Number(name)] : undefined;
    else part = slices.kind === 'object' ? slices.members.find((member) => member.name === name)?.value : undefined;
  }
  return part;
}

/** Rows of a list, or of a table's `rows`, each as JSON text. */
function rowsOf(json: string): string[] | undefined {
  const slices = sliceJson(json);
  if (slices.kind === 'array') return slices.items;
  const rows = slices.kind === 'object' ? slices.members.find(({ name }) => name === 'rows')?.value : undefined;
  const inner = rows === undefined ? undefined : sliceJson(rows);
  return inner?.kind === 'array' ? inner.items : undefined;
}

/** Lines of a text, each as JSON text. */
function linesOf(json: string): string[] | undefined {
  if (!json.startsWith('"')) return undefined;
  return (JSON.parse(json) as string).split(/\r\n|\n|\r/).map((line) => JSON.stringify(line));
}

type Paging = { asked: ReadResult; unit: 'row' | 'line' };

function pageOfItems(items: string[] | undefined, from: number, { asked, unit }: Paging): Outcome {
  if (!items) {
    const wanted = unit === 'row' ? 'a list or a table' : 'a text';
    return refusal(
      'invalid_arguments',
      `/${unit}: this part of the result is not ${wanted}.`,
      'Use offset, or another path.',
    );
  }
  if (from > 0 && from >= items.length) {
    return refusal('invalid_arguments', `/${unit}: expected less than ${items.length}; got ${from}.`);
  }
  const total = `total${unit === 'row' ? 'Rows' : 'Lines'}`;
  const next = `next${unit === 'row' ? 'Row' : 'Line'}`;
  const render = (count: number) => {
    const end = Math.min(items.length, from + count);
    const told = JSON.stringify({
      ref: asked.ref,
      [unit]: from,
      [total]: items.length,
      [next]: end < items.length ? end : null,
    });
    return `${told.slice(0, -1)},"${unit}s":[${items.slice(from, end).join(',')}]}`;
  };
  const wanted = Math.min(asked.limit ?? items.length, items.length - from);
  const count = largestThatFits(wanted, (each) => render(each).length <= asked.maxChars);
  if (count > 0 || wanted === 0) return { kind: 'result', data: render(count) };
  const suggestion = `Read it by offset with path "${(asked.path ?? '').slice(0, 60)}/${from}".`;
  return refusal(
    'invalid_arguments',
    `/${unit}: ${unit} ${from} alone is longer than what is shown at once.`,
    suggestion,
  );
}

function largestThatFits(max: number, fits: (count: number) => boolean): number {
  let low = 0;
  let high = max + 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The longest piece from the offset on that fits. */
function page(text: string, { ref, offset, limit, maxChars }: ReadResult): string {
  const render = (count: number) => {
    const end = Math.min(text.length, offset + count);
    const nextOffset = end < text.length ? end : null;
    return JSON.stringify({
      ref,
      offset,
      totalChars: text.length,
      nextOffset,
      text: text.slice(offset, end).toWellFormed(),
    });
  };
  let low = 1;
  let high = Math.min(limit ?? maxChars, maxChars, text.length - offset) + 1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (render(middle).length <= maxChars) low = middle;
    else high = middle;
  }
  return render(low);
}
