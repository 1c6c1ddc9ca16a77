/**
 * Makes invisible and active characters of tool output visible (I12): terminal escapes, bidirectional overrides,
 * zero-width characters and tag characters can hide words from a reader or reorder what is shown.
 * Pure. Line breaks and tabs stay.
 */

// C0 without \t \n \r, DEL and C1; soft hyphen, Arabic letter mark, zero-width and bidirectional marks, line and
// paragraph separators, word joiner and invisible operators, deprecated format characters, byte order mark,
// interlinear annotation, tag characters.
const invisible =
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;

const spelledMax = 10_000;

/** Whether a text has more such characters than are worth spelling out, one by one, as in a binary file. */
function isFlooded(text: string): boolean {
  const pattern = new RegExp(invisible);
  let count = 0;
  while (count <= spelledMax && pattern.test(text)) count += 1;
  return count > spelledMax;
}

/** Every such character as U+FFFD, by code unit: a replacement of millions of matches would hold up everything else. */
function replaced(text: string): string {
  const isInvisible = Uint8Array.from({ length: 65_536 }, (_unused, unit) =>
    String.fromCharCode(unit).search(invisible) === -1 ? 0 : 1,
  );
  const bytes = Buffer.from(text, 'utf16le');
  const units = new Uint16Array(bytes.buffer, bytes.byteOffset, text.length);
  // Tag characters are U+DB40 followed by a low surrogate; backwards, the first half is still there to be seen.
  for (let at = units.length - 1; at >= 0; at -= 1) {
    if (isInvisible[units[at] ?? 0] === 1 || units[at] === 0xdb40 || units[at - 1] === 0xdb40) units[at] = 0xfffd;
  }
  return bytes.toString('utf16le');
}

/** Text in which each such character is spelled out, for example `\u{202e}`. */
export function visibleText(text: string): string {
  if (isFlooded(text)) return replaced(text);
  return text.replaceAll(invisible, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same JSON value with such characters written as JSON escapes, so that the text shows them. */
export function visibleJson(json: string): string {
  if (isFlooded(json)) return replaced(json);
  return json.replaceAll(invisible, (char) =>
    [...Array(char.length).keys()].map((at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

/** Well-formed JSON text of a text result. */
export function textData(text: string): string {
  return JSON.stringify(visibleText(text.toWellFormed()));
}
