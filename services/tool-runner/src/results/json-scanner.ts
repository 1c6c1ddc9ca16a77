/**
 * Reads JSON text that comes in pieces and tells where its values begin and end, without keeping any of it. One pass, whatever the
 * nesting; text that is broken or cut is read as far as it goes. Pure.
 */

export type JsonValueKind = 'object' | 'array' | 'string' | 'scalar';

export type JsonEvents = {
  /** A value begins at index `at` of the present piece. The root has depth 0. */
  begin(kind: JsonValueKind, depth: number, at: number): void;
  /** The value that began last at this depth ends before index `at`. */
  end(depth: number, at: number): void;
  /** The name of the member that comes next; told where `keyDepth` is its depth. */
  key?(name: string): void;
  keyDepth?: number;
};

export type JsonScanner = {
  write(piece: string): void;
  /** Ends a number that nothing comes after. */
  finish(): void;
};

const depthMax = 100_000;

export function createJsonScanner(events: JsonEvents): JsonScanner {
  return new Scanner(events);
}

class Scanner implements JsonScanner {
  readonly #events: JsonEvents;
  /** Whether each open container is an object. */
  readonly #open: boolean[] = [];
  #mode: 'between' | 'string' | 'scalar' = 'between';
  #isEscaped = false;
  #isKeyNext = false;
  #isKey = false;
  #isBroken = false;
  #keyText: string[] = [];

  constructor(events: JsonEvents) {
    this.#events = events;
  }

  write(piece: string): void {
    for (let at = 0; at < piece.length && !this.#isBroken;) {
      if (this.#mode === 'string') at = this.#takeString(piece, at);
      else if (this.#mode === 'scalar' && !endsScalar(piece.charCodeAt(at))) at += 1;
      else {
        if (this.#mode === 'scalar') this.#events.end(this.#open.length, at);
        this.#mode = 'between';
        this.#takeStructure(piece.charCodeAt(at), at);
        at += 1;
      }
    }
  }

  finish(): void {
    if (this.#mode === 'scalar') this.#events.end(this.#open.length, 0);
    this.#mode = 'between';
  }

  /** Index behind the string's closing quote, or the length of the piece where it goes on. */
  #passString(piece: string, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const char = piece.charCodeAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (char === 0x5c) this.#isEscaped = true;
      else if (char === 0x22) {
        this.#mode = 'between';
        return at + 1;
      }
    }
    return piece.length;
  }

  #takeString(piece: string, from: number): number {
    const to = this.#passString(piece, from);
    const isOver = this.#mode !== 'string';
    if (this.#isKey) this.#takeKey(piece.slice(from, isOver ? to - 1 : to), isOver);
    else if (isOver) this.#events.end(this.#open.length, to);
    return to;
  }

  #takeKey(text: string, isOver: boolean): void {
    const isWanted = this.#events.keyDepth === this.#open.length;
    if (isWanted) this.#keyText.push(text);
    if (!isOver) return;
    this.#isKey = false;
    if (isWanted) this.#events.key?.(unescaped(this.#keyText.join('')));
    this.#keyText = [];
  }

  #takeStructure(char: number, at: number): void {
    const open = this.#open;
    if (char === 0x22) {
      this.#mode = 'string';
      this.#isKey = this.#isKeyNext;
      this.#isKeyNext = false;
      if (!this.#isKey) this.#events.begin('string', open.length, at);
    } else if (char === 0x7b || char === 0x5b) {
      this.#isBroken = open.length >= depthMax;
      this.#events.begin(char === 0x7b ? 'object' : 'array', open.length, at);
      open.push(char === 0x7b);
      this.#isKeyNext = char === 0x7b;
    } else if (char === 0x7d || char === 0x5d) {
      open.pop();
      this.#isKeyNext = false;
      this.#events.end(open.length, at + 1);
    } else if (char === 0x2c) this.#isKeyNext = open.at(-1) === true;
    else if (char !== 0x3a && char > 0x20) {
      this.#mode = 'scalar';
      this.#events.begin('scalar', open.length, at);
    }
  }
}

/** White space, `,`, `]`, `}` and what would begin another value. */
function endsScalar(char: number): boolean {
  return char <= 0x20 || char === 0x2c || char === 0x5d || char === 0x7d || char === 0x3a || char === 0x22;
}

/** The inside of a JSON text without its escapes; as it stands where it is broken. */
export function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}
