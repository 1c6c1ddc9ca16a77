/** Raw error text for engineers: cut, and without the secrets that were in use. Pure. */

export const rawErrorCharsMax = 4_000;

const patterns: readonly [RegExp, string][] = [
  [
    /\b(authorization|proxy-authorization|cookie|set-cookie|x-api-key)(["']?\s*[:=][\s"']*)[^\s"'][^\r\n"']*/gi,
    '$1$2[removed]',
  ],
  [
    /\b((?:api[_-]?key|access[_-]?token|token|password|passwd|secret|client[_-]?secret)["']?\s*[:=]\s*["']?)[^\s"'&,;}]+/gi,
    '$1[removed]',
  ],
  [/\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [removed]'],
  [/(\b\w+:\/\/[^\s:/@]+):[^\s@/]+@/g, '$1:[removed]@'],
];

/** Text that may be stored: known secret values and what looks like a secret are taken out, then it is cut. */
export function storableError(text: string, secretValues: Iterable<string>): string {
  // What lies far behind the cut is not searched.
  let safe = text.slice(0, rawErrorCharsMax * 4).toWellFormed();
  for (const value of secretValues) {
    if (value.length >= 4) safe = safe.replaceAll(value, '[removed]');
  }
  for (const [pattern, replacement] of patterns) safe = safe.replaceAll(pattern, replacement);
  return safe.length <= rawErrorCharsMax ? safe : `${safe.slice(0, rawErrorCharsMax - 1)}…`;
}
