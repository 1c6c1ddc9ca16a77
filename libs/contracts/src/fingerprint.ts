/** Content hashes: SHA-256 over canonical JSON (RFC 8785), so that key order and spacing don't count. */
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { exactJson } from './exact-json.ts';

/** SHA-256 of a text in lower-case hex. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text);
}

/** Canonical JSON (RFC 8785) of a JSON value. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('not a JSON value');
  return text;
}

/** The content hash of a JSON value. */
export function fingerprint(value: unknown): string {
  return sha256(canonicalJson(value));
}

/**
 * The content hash of JSON text, blind to key order, spacing and the spelling of numbers and strings, never to their
 * value: numbers count digit for digit. Where a double holds every number it is the `fingerprint` of the parsed value.
 * Throws SyntaxError when the text is not JSON, and nothing else.
 */
export function fingerprintJson(text: string): string {
  JSON.parse(text);
  return fingerprint(JSON.parse(exactJson(text)));
}
