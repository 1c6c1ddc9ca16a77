/** Readers of JSON text that comes in pieces: the part at a pointer, the items of a list, and the characters of a text. Pure. */
import { createJsonScanner, unescaped, type JsonEvents, type JsonValueKind } from './json-scanner.ts';

/** Takes a text piece by piece. */
export type TextSink = {
  write(piece: string): void;
  /** Nothing comes after this. */
  end(): void;
};

export type PartReader = TextSink & { isFound(): boolean };

/** The steps of a JSON Pointer (RFC 6901); a `/` at the beginning may be missing. */
export function stepsOf(pointer: string): string[] {
  const steps = pointer === '' ? [] : pointer.replace(/^\//, '').split('/');
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Hands the JSON text of one part on, as it comes. */
export function createPartReader(steps: readonly string[], sink: TextSink): PartReader {
  let state: 'looking' | 'inside' | 'over' = 'looking';
  let isFound = false;
  /** How many containers on the way to the part are open, and what is known of the innermost. */
  let entered = 0;
  let isList = false;
  let index = 0;
  let name = '';
  let piece = '';
  let from = 0;
  const isOnTheWay = () => {
    if (entered === 0) return true;
    const here = isList ? String(index) : name;
    index += 1;
    return here === steps[entered - 1];
  };
  const events: JsonEvents = {
    keyDepth: -1,
    key: (told) => void (name = told),
    begin(kind, depth, at) {
      if (state !== 'looking' || depth !== entered || !isOnTheWay()) return;
      if (entered === steps.length) {
        state = 'inside';
        isFound = true;
        from = at;
      } else if (kind === 'object' || kind === 'array') {
        entered += 1;
        isList = kind === 'array';
        index = 0;
        name = '';
        events.keyDepth = entered;
      } else state = 'over';
    },
    end(depth, at) {
      if (state === 'inside' && depth === entered) {
        sink.write(piece.slice(from, at));
        state = 'over';
      } else if (state === 'looking' && depth < entered) state = 'over';
    },
  };
  const scanner = createJsonScanner(events);
  return {
    isFound: () => isFound,
    write(next) {
      if (state === 'over') return;
      piece = next;
      from = 0;
      scanner.write(piece);
      if (wasInside(state)) sink.write(piece.slice(from));
    },
    end() {
      piece = '';
      from = 0;
      scanner.finish();
      sink.end();
    },
  };
}

/** Kept apart so that the compiler forgets what it knew of the state before the scanner ran. */
function wasInside(state: 'looking' | 'inside' | 'over'): boolean {
  return state === 'inside';
}

export type ItemsWanted = {
  from: number;
  countMax: number;
  /** Characters of all items together, with what separates them. */
  charsMax: number;
};

export type ItemReader = TextSink & {
  /** JSON texts of the items that were wanted and fit; undefined for what is no list. */
  items(): string[] | undefined;
  total(): number;
};

/** Reads the items of a list, or of the `rows` of a table. */
export function createItemReader(wanted: ItemsWanted): ItemReader {
  const items: string[] = [];
  let total = 0;
  let chars = 0;
  let isFull = wanted.countMax === 0;
  let root: JsonValueKind | undefined;
  let rows: { reader: PartReader; items: ItemReader } | undefined;
  let piece = '';
  let from = -1;
  let pieces: string[] = [];
  const keep = (text: string) => {
    chars += text.length + (pieces.length === 0 ? 1 : 0);
    if (chars > wanted.charsMax) isFull = true;
    else pieces.push(text);
  };
  const scanner = createJsonScanner({
    begin(kind, depth, at) {
      if (depth === 0) {
        root ??= kind;
        if (kind === 'object' && !rows) rows = rowsReader(wanted);
      }
      if (depth === 1 && root === 'array' && total >= wanted.from && !isFull) from = at;
    },
    end(depth, at) {
      if (depth !== 1 || root !== 'array') return;
      total += 1;
      if (from === -1) return;
      keep(piece.slice(from, at));
      if (!isFull) items.push(pieces.join(''));
      if (items.length >= wanted.countMax) isFull = true;
      pieces = [];
      from = -1;
    },
  });
  return {
    items: () => (root === 'array' ? items : rows?.items.items()),
    total: () => (root === 'array' ? total : (rows?.items.total() ?? 0)),
    write(next) {
      piece = next;
      if (from !== -1) from = 0;
      if (!rows) scanner.write(piece);
      if (from !== -1) keep(piece.slice(from));
      if (isFull) from = -1;
      rows?.reader.write(piece);
    },
    end() {
      scanner.finish();
      rows?.reader.end();
    },
  };
}

function rowsReader(wanted: ItemsWanted): { reader: PartReader; items: ItemReader } {
  const items = createItemReader(wanted);
  return { reader: createPartReader(['rows'], items), items };
}

/** Hands the characters of a JSON text on; tells of anything else by `isText`. */
export function createStringReader(sink: TextSink): TextSink & { isText(): boolean } {
  let isText: boolean | undefined;
  let isOver = false;
  let rest = '';
  return {
    isText: () => isText === true,
    write(piece) {
      let text = rest + piece;
      if (isText === undefined) {
        text = text.trimStart();
        if (text === '') return;
        isText = text.startsWith('"');
        text = text.slice(1);
      }
      if (!isText || isOver) return;
      const { end, isLast } = endOfWhole(text);
      isOver = isLast;
      rest = isLast ? '' : text.slice(end);
      if (end > 0) sink.write(unescaped(text.slice(0, end)));
    },
    end() {
      if (rest !== '') sink.write(unescaped(rest));
      sink.end();
    },
  };
}

/** How much of a JSON text's inside is whole: no escape and no pair of surrogates is cut. `isLast` at its closing quote. */
function endOfWhole(text: string): { end: number; isLast: boolean } {
  let whole = 0;
  let hexLeft = 0;
  let isEscaped = false;
  let isHalf = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (hexLeft > 0) {
      hexLeft -= 1;
      if (hexLeft === 0) isHalf = !isHalf && /^d[89ab]/i.test(text.slice(at - 3, at + 1));
    } else if (isEscaped) {
      isEscaped = false;
      hexLeft = char === 0x75 ? 4 : 0;
    } else if (char === 0x22) return { end: at, isLast: true };
    else if (char === 0x5c) isEscaped = true;
    else isHalf = !isHalf && (char & 0xfc00) === 0xd800;
    if (!isEscaped && hexLeft === 0 && !isHalf) whole = at + 1;
  }
  return { end: whole, isLast: false };
}
