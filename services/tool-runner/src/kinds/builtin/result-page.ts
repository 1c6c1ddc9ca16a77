/** One page of a text that comes in pieces: by characters, by the lines of a text, or by the rows of a list or table. Pure. */
import { largestThat } from '@pawl/calls';
import { refusal, type Outcome } from '../../call/outcome.ts';
import { createItemReader, createStringReader, type TextSink } from '../../results/json-parts.ts';

export type PageOf = {
  ref: string;
  /** Where to begin: a character, or a line or row from 0; at most one of them is given. */
  offset: number;
  line?: number | undefined;
  row?: number | undefined;
  path?: string | undefined;
  /** Characters, lines or rows wanted; fewer where they would not fit into `maxChars` of JSON. */
  limit: number | undefined;
  maxChars: number;
};

export type Page = { sink: TextSink; outcome(): Outcome };

/** `isPlain`: the text is no JSON, so its lines are those that it has. */
export function createPage(asked: PageOf, isPlain: boolean): Page {
  if (asked.row !== undefined) return rowPage(asked, asked.row);
  if (asked.line !== undefined) return linePage(asked, asked.line, isPlain);
  return charPage(asked);
}

function rowPage(asked: PageOf, from: number): Page {
  const countMax = asked.limit ?? Number.MAX_SAFE_INTEGER;
  const reader = createItemReader({ from, countMax, charsMax: asked.maxChars });
  return {
    sink: reader,
    outcome: () => pageOfItems({ items: reader.items(), total: reader.total(), from }, { asked, unit: 'row' }),
  };
}

function linePage(asked: PageOf, from: number, isPlain: boolean): Page {
  const lines = createLineReader(from, asked);
  const text = createStringReader(lines);
  return {
    sink: isPlain ? lines : text,
    outcome: () => {
      const items = isPlain || text.isText() ? lines.items() : undefined;
      return pageOfItems({ items, total: lines.total(), from }, { asked, unit: 'line' });
    },
  };
}

type LineReader = TextSink & { items(): string[]; total(): number };

/** Lines end with LF, CRLF or CR; each is kept as JSON text. */
function createLineReader(from: number, { limit, maxChars }: PageOf): LineReader {
  const items: string[] = [];
  const countMax = limit ?? Number.MAX_SAFE_INTEGER;
  let total = 0;
  let chars = 0;
  let isFull = false;
  let isAfterReturn = false;
  let line: string[] = [];
  const keep = (text: string) => {
    if (total < from || isFull || text === '') return;
    chars += text.length;
    if (chars > maxChars) isFull = true;
    else line.push(text);
  };
  const endLine = () => {
    if (total >= from && !isFull) items.push(JSON.stringify(line.join('').toWellFormed()));
    if (items.length >= countMax) isFull = true;
    line = [];
    total += 1;
  };
  return {
    items: () => items,
    total: () => total,
    write(piece) {
      // The second half of a line end that was cut.
      const skipped = isAfterReturn && piece.startsWith('\n') ? 1 : 0;
      if (piece !== '') isAfterReturn = piece.endsWith('\r');
      let start = skipped;
      for (const { index, 0: lineEnd } of piece.matchAll(/\r\n|\n|\r/g)) {
        if (index < skipped) continue;
        keep(piece.slice(start, index));
        endLine();
        start = index + lineEnd.length;
      }
      keep(piece.slice(start));
    },
    end: endLine,
  };
}

type Items = { items: string[] | undefined; total: number; from: number };
type Paging = { asked: PageOf; unit: 'row' | 'line' };

function pageOfItems({ items, total, from }: Items, { asked, unit }: Paging): Outcome {
  if (!items) {
    const wanted = unit === 'row' ? 'a list or a table' : 'a text';
    const message = `/${unit}: this part of the result is not ${wanted}.`;
    return refusal('invalid_arguments', message, 'Use offset, or another path.');
  }
  if (from > 0 && from >= total) {
    return refusal('invalid_arguments', `/${unit}: expected less than ${total}; got ${from}.`);
  }
  const render = (count: number) => {
    const end = from + count;
    const told = JSON.stringify({
      ref: asked.ref,
      [unit]: from,
      [`total${unit === 'row' ? 'Rows' : 'Lines'}`]: total,
      [`next${unit === 'row' ? 'Row' : 'Line'}`]: end < total ? end : null,
    });
    return `${told.slice(0, -1)},"${unit}s":[${items.slice(0, count).join(',')}]}`;
  };
  const count = largestThat(items.length, (each) => each === 0 || render(each).length <= asked.maxChars);
  if (count > 0 || total === 0) return { kind: 'result', data: render(count) };
  const suggestion =
    unit === 'row'
      ? `Read it by offset with path "${(asked.path ?? '').slice(0, 60)}/${from}".`
      : 'Read it by offset instead.';
  return refusal(
    'invalid_arguments',
    `/${unit}: ${unit} ${from} alone is longer than what is shown at once.`,
    suggestion,
  );
}

function charPage(asked: PageOf): Page {
  const { ref, offset, maxChars } = asked;
  const wanted = Math.min(asked.limit ?? maxChars, maxChars);
  let total = 0;
  let text = '';
  const render = (count: number) => {
    const end = offset + count;
    return JSON.stringify({
      ref,
      offset,
      totalChars: total,
      nextOffset: end < total ? end : null,
      text: text.slice(0, count).toWellFormed(),
    });
  };
  return {
    sink: {
      write(piece) {
        const from = Math.max(0, offset - total);
        if (text.length < wanted) text += piece.slice(from, from + wanted - text.length);
        total += piece.length;
      },
      end: () => {},
    },
    outcome() {
      if (offset > 0 && offset >= total) {
        const message = `/offset: expected less than ${total}, the characters of the result; got ${offset}.`;
        return refusal('invalid_arguments', message);
      }
      const count = largestThat(text.length, (each) => each <= 1 || render(each).length <= maxChars);
      return { kind: 'result', data: render(count) };
    },
  };
}
