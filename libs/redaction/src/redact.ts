/**
 * Taking secrets and personal data out of JSON text. Pure.
 *
 * 1. Only the values that hold something are changed; every other byte stays as it came.
 * 2. Fail closed, per value: what can't be checked is taken out.
 * 3. JSON inside of strings is looked through as JSON, however deep it is quoted.
 */
import { mayHoldSecrets, personalPatterns, redactSecrets, secretKey, type PersonalKind } from './sensitive.ts';

export const redacted = '[redacted]';

/** What an app wants taken out, beside secrets, which always are. */
export type RedactionRules = {
  /** Names of fields, in any case, whose values are taken out whole. */
  fields: ReadonlySet<string>;
  personal: readonly PersonalKind[];
  /** The app's own patterns. */
  replaceAll: readonly ((text: string) => string)[];
};

export const noRules: RedactionRules = { fields: new Set(), personal: [], replaceAll: [] };

/** Quoting that is looked through; what is deeper is taken for plain text. */
const quotingMax = 8;

/** The text without what the rules want out. `text` must be valid JSON. */
export function redactJson(text: string, rules: RedactionRules): string {
  const hasRules = rules.fields.size + rules.personal.length + rules.replaceAll.length > 0;
  return hasRules || mayHoldSecrets(text) ? redactValues(text, rules, 0) : text;
}

function redactValues(text: string, rules: RedactionRules, quoting: number): string {
  const parts: string[] = [];
  let copied = 0;
  let wasKey: string | undefined;
  let depth = 0;
  /** While inside of a value whose field is taken out: the depth at which it began. */
  let hiddenAbove = Infinity;
  const tokens = /["{}[\]]|[^\s{}[\],:"]+/g;
  const put = (from: number, to: number, replacement: string) => {
    parts.push(text.slice(copied, from), replacement);
    copied = to;
  };
  for (let token = tokens.exec(text); token; token = tokens.exec(text)) {
    if (token[0] === '"') tokens.lastIndex = endOfString(text, token.index);
    const end = tokens.lastIndex;
    const found = text.slice(token.index, end);
    if (found === '{' || found === '[') {
      if (isHidden(wasKey, rules)) hiddenAbove = Math.min(hiddenAbove, depth);
      depth += 1;
      wasKey = undefined;
    } else if (found === '}' || found === ']') {
      depth -= 1;
      if (depth <= hiddenAbove) hiddenAbove = Infinity;
    } else if (found.startsWith('"') && isKeyAt(text, end)) {
      wasKey = decode(found);
    } else {
      const isOut = depth > hiddenAbove || isHidden(wasKey, rules);
      const clean = isOut ? hide(found) : redactScalar(found, rules, quoting);
      if (clean !== found) put(token.index, end, clean);
      wasKey = undefined;
    }
  }
  return parts.join('') + text.slice(copied);
}

/** Plain text without what the rules want out. */
export function redactText(text: string, rules: RedactionRules, quoting = 0): string {
  try {
    if (quoting < quotingMax && /^\s*[{["]/.test(text) && isJson(text)) return redactValues(text, rules, quoting + 1);
    let clean = redactSecrets(text, redacted);
    for (const kind of rules.personal) clean = personalPatterns[kind](clean, redacted);
    for (const replace of rules.replaceAll) clean = replace(clean);
    return clean;
  } catch {
    return redacted;
  }
}

function redactScalar(token: string, rules: RedactionRules, quoting: number): string {
  if (!token.startsWith('"')) return token;
  const value = decode(token);
  if (value === undefined) return JSON.stringify(redacted);
  const clean = redactText(value, rules, quoting);
  return clean === value ? token : JSON.stringify(clean);
}

/** A value of a field that is taken out; what says nothing stays. */
function hide(token: string): string {
  return ['null', 'true', 'false', '""'].includes(token) ? token : JSON.stringify(redacted);
}

function isHidden(key: string | undefined, rules: RedactionRules): boolean {
  if (key === undefined) return false;
  return secretKey.test(key) || rules.fields.has(key.toLowerCase());
}

/** The place behind the string that begins at `start`. A loop, since a pattern would exhaust its stack on megabytes. */
function endOfString(text: string, start: number): number {
  const delimiter = /["\\]/g;
  delimiter.lastIndex = start + 1;
  for (let found = delimiter.exec(text); found; found = delimiter.exec(text)) {
    if (found[0] === '"') return delimiter.lastIndex;
    delimiter.lastIndex += 1;
  }
  return text.length;
}

function isKeyAt(text: string, end: number): boolean {
  const next = /\S/g;
  next.lastIndex = end;
  return next.exec(text)?.[0] === ':';
}

function decode(token: string): string | undefined {
  try {
    return JSON.parse(token) as string;
  } catch {
    return undefined;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
