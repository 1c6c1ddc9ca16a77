/**
 * JSON text taken apart without reading its values, so that digits, escapes and key order stay as they are.
 * Pure. Every function is one pass over the text; input has to be valid JSON unless said otherwise.
 */

const codes = { space: 0x20, quote: 0x22, comma: 0x2c } as const;

function isOpening(char: number): boolean {
  return char === 0x7b || char === 0x5b;
}

function isClosing(char: number): boolean {
  return char === 0x7d || char === 0x5d;
}

/** The deepest nesting of arrays and objects. Also for text that is not valid JSON. */
export function maxDepthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === codes.quote) at = endOfString(text, at);
    else if (isOpening(char)) deepest = Math.max(deepest, (depth += 1));
    else if (isClosing(char)) depth -= 1;
  }
  return deepest;
}

/** The same JSON without white space between its tokens. */
export function compactJson(text: string): string {
  if (!/\s/.test(text)) return text;
  const pieces: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === codes.quote) at = endOfString(text, at);
    else if (char <= codes.space) {
      if (at > start) pieces.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...pieces, text.slice(start)].join('');
}

export type JsonSlices =
  | { kind: 'array'; items: string[] }
  | { kind: 'object'; members: { name: string; value: string }[] }
  | { kind: 'scalar' };

/** The parts of the outermost array or object of compact JSON, each as its own text. */
export function sliceJson(text: string): JsonSlices {
  if (text.startsWith('[')) return { kind: 'array', items: partsOf(text) };
  if (!text.startsWith('{')) return { kind: 'scalar' };
  const members = partsOf(text).map((part) => {
    const end = endOfString(part, 0) + 1;
    return { name: JSON.parse(part.slice(0, end)) as string, value: part.slice(end + 1) };
  });
  return { kind: 'object', members };
}

function partsOf(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 1;
  for (let at = 1; at < text.length - 1; at += 1) {
    const char = text.charCodeAt(at);
    if (char === codes.quote) at = endOfString(text, at);
    else if (isOpening(char)) depth += 1;
    else if (isClosing(char)) depth -= 1;
    else if (char === codes.comma && depth === 0) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  if (text.length > 2) parts.push(text.slice(start, -1));
  return parts;
}

/** Where the string that begins at `start` ends: the index of its closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text[end - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
