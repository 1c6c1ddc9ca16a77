/** What a `Content-Type` says about how to read an answer. Pure. */
import { TextDecoder } from 'node:util';

export function mediaType(contentType: string | undefined): string {
  return (contentType ?? 'text/plain').split(';')[0]?.trim().toLowerCase() ?? 'text/plain';
}

export function isJson(type: string): boolean {
  return type === 'application/json' || type === 'text/json' || type.endsWith('+json');
}

export function isHtml(type: string): boolean {
  return type === 'text/html' || type === 'application/xhtml+xml';
}

const otherTextual = new Set([
  'application/xml',
  'application/javascript',
  'application/yaml',
  'application/x-yaml',
  'application/x-ndjson',
  'application/csv',
]);

/** A picture in SVG is an active document, so it counts as a picture and not as text. */
export function isTextual(type: string): boolean {
  if (type === 'image/svg+xml') return false;
  return isJson(type) || type.startsWith('text/') || type.endsWith('+xml') || otherTextual.has(type);
}

function charsetOf(contentType: string | undefined): string {
  return /charset\s*=\s*"?([\w-]+)/i.exec(contentType ?? '')?.[1]?.toLowerCase() ?? 'utf-8';
}

export function isUtf8(contentType: string | undefined): boolean {
  return ['utf-8', 'utf8', 'us-ascii'].includes(charsetOf(contentType));
}

/** A reader of the declared charset, of UTF-8 where nobody knows that one. */
export function decoderOf(contentType: string | undefined): TextDecoder {
  try {
    return new TextDecoder(charsetOf(contentType));
  } catch {
    return new TextDecoder();
  }
}
