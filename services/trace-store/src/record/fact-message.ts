/**
 * Reads one message of the run log: bytes in, a fact with its exact text out, or the reason why it is set aside.
 * Pure. It must never throw for any bytes, and must never put a message's content into a reason.
 *
 * 1. The rest of a fact's text is kept as it came: numbers are never re-written.
 * 2. What an app's rules want out is out before anything else sees the fact; a fact that can't be without it is set aside.
 * 3. A fact whose address differs from its subject is set aside, so a fact can't end up in another app or run.
 */
import { createHash } from 'node:crypto';
import { factSchema, parseFactSubject, slotOf, type Fact } from '@pawl/contracts';
import { redactJson, type RedactionRules } from '@pawl/redaction';
import { parseTraceparent, type TraceContext } from '@pawl/telemetry';

/** How deep the JSON of a fact may nest. What is deeper can't be shown and breaks recursive readers. */
export const DEPTH_MAX = 100;

/** A message as it came from the stream, claim checks already resolved. */
export type FactMessage = {
  subject: string;
  /** Its sequence in the stream. */
  sequence: number;
  data: Uint8Array;
  /** The `traceparent` header. */
  traceparent?: string | undefined;
};

export type ParsedFact = {
  fact: Fact;
  /** The JSON text of the fact, as it came. */
  text: string;
  slot: string;
  sequence: number;
  trace: TraceContext | undefined;
  /** Whether something was taken out of it. */
  isRedacted: boolean;
};

export type RejectReason =
  | 'unknown_subject'
  | 'invalid_utf8'
  | 'invalid_json'
  | 'too_deep'
  | 'not_a_fact'
  | 'wrong_address'
  | 'redaction_failed'
  | 'claim_missing'
  | 'refused_by_database';

/** What is kept of a message that is set aside: where it was, why, and enough to find it again. Never its content. */
export type RejectedMessage = {
  subject: string;
  sequence: number;
  app: string | null;
  runId: string | null;
  slot: string | null;
  reason: RejectReason;
  sha256: string;
  /** Size in bytes. */
  size: number;
};

export type FactReading = { fact: ParsedFact } | { rejected: RejectedMessage };

/** Reads a message, with the rules of the app that its subject names. Never throws. */
export function readFactMessage(message: FactMessage, rulesOf: (app: string) => RedactionRules): FactReading {
  const address = parseFactSubject(message.subject);
  if (!address) return { rejected: rejectMessage(message, 'unknown_subject') };
  const text = decodeUtf8(message.data);
  if (text === undefined) return { rejected: rejectMessage(message, 'invalid_utf8') };
  if (!isDepthAtMost(text, DEPTH_MAX)) return { rejected: rejectMessage(message, 'too_deep') };
  const json = parseJson(text);
  if (!json) return { rejected: rejectMessage(message, 'invalid_json') };
  const parsed = factSchema.safeParse(json.value);
  if (!parsed.success) return { rejected: rejectMessage(message, 'not_a_fact') };
  const clean = redactFact({ fact: parsed.data, text }, rulesOf(address.app));
  if (!clean) return { rejected: rejectMessage(message, 'redaction_failed') };
  const { fact } = clean;
  if (fact.app !== address.app || fact.runId !== address.runId || slotOf(fact) !== address.slot) {
    return { rejected: rejectMessage(message, 'wrong_address') };
  }
  const trace = parseTraceparent(message.traceparent);
  const isRedacted = clean.text !== text;
  return { fact: { ...clean, slot: address.slot, sequence: message.sequence, trace, isRedacted } };
}

/** The fact without what has to be out; undefined when it is none any more. */
function redactFact(read: { fact: Fact; text: string }, rules: RedactionRules): typeof read | undefined {
  try {
    const text = redactJson(read.text, rules);
    if (text === read.text) return read;
    const parsed = factSchema.safeParse(JSON.parse(text));
    return parsed.success ? { fact: parsed.data, text } : undefined;
  } catch {
    return undefined;
  }
}

/** What is kept of a message that is set aside. */
export function rejectMessage(message: FactMessage, reason: RejectReason): RejectedMessage {
  const address = parseFactSubject(message.subject);
  return {
    subject: message.subject,
    sequence: message.sequence,
    app: address?.app ?? null,
    runId: address?.runId ?? null,
    slot: address?.slot ?? null,
    reason,
    sha256: createHash('sha256').update(message.data).digest('hex'),
    size: message.data.byteLength,
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeUtf8(data: Uint8Array): string | undefined {
  try {
    return utf8.decode(data);
  } catch {
    return undefined;
  }
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Whether JSON text nests at most `depthMax` deep, told without parsing it. */
export function isDepthAtMost(text: string, depthMax: number): boolean {
  if (countUpTo(depthMax + 1, text, '{') + countUpTo(depthMax + 1, text, '[') <= depthMax) return true;
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isInString) {
      if (code === backslash) index++;
      else if (code === quote) isInString = false;
    } else if (code === quote) isInString = true;
    else if (code === openBrace || code === openBracket) {
      if (++depth > depthMax) return false;
    } else if (code === closeBrace || code === closeBracket) depth--;
  }
  return true;
}

/** How often a character is in a text, or `countMax` where it is more often. */
function countUpTo(countMax: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1 && count < countMax; at = text.indexOf(character, at + 1)) count++;
  return count;
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [34, 92, 123, 125, 91, 93];
