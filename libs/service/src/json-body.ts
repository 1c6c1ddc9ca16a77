/**
 * Reading JSON bodies from strangers: UTF-8 without replacement characters, no halves of characters, no keys that reach
 * prototypes, no nesting that would exhaust the stack of whoever walks through the value.
 */
import { RejectedError } from '@pawl/contracts';
import type { Http } from './http.ts';

const nestingMax = 200;
const textDecoder = new TextDecoder('utf-8', { fatal: true });

/** Makes JSON the only body that a server takes, unless a route adds another. */
export function takeJsonBodies(http: Http): void {
  const parseSafely = http.getDefaultJsonParser('error', 'error');
  http.removeAllContentTypeParsers();
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      const text = textOf(body);
      refuseHalfCharacters(text);
      refuseDeepNesting(text);
      void parseSafely(request, text, (error, value) =>
        done(error && new RejectedError('invalid_json', error.message), value),
      );
    } catch (error) {
      done(error as Error);
    }
  });
}

function textOf(body: string | Buffer): string {
  if (body.length === 0) throw new RejectedError('invalid_json', 'the body is empty; JSON was expected');
  try {
    return typeof body === 'string' ? body : textDecoder.decode(body);
  } catch {
    throw new RejectedError('invalid_json', 'the body is not UTF-8');
  }
}

/** UTF-8 can't hold half of a surrogate pair, but an escape can name one (RFC 8259, section 8.2). */
function refuseHalfCharacters(text: string): void {
  if (!/\\u[dD][89a-fA-F]/.test(text)) return;
  const escapes = text.matchAll(
    /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)/gs,
  );
  for (const [, half] of escapes) {
    if (half !== undefined) {
      throw new RejectedError('invalid_json', `the body holds \\${half}, which is half of a character`);
    }
  }
}

function refuseDeepNesting(text: string): void {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isInString) {
      if (character === '\\') at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth > nestingMax)
      throw new RejectedError('invalid_json', `the body is nested deeper than ${nestingMax} levels`);
  }
}
