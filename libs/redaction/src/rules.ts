/** An app's rules of redaction as it declares them, and ready for use. */
import { RE2JS } from 're2js';
import { z } from 'zod';
import { redacted, type RedactionRules } from './redact.ts';
import { personalKinds } from './sensitive.ts';

/** RE2 patterns: they take time linear in the text, whatever they say. */
const patternSchema = z.string().min(1).max(500).refine(compiles, 'must be a regular expression in the syntax of RE2');

export const redactionSchema = z
  .strictObject({
    fields: z.array(z.string().min(1).max(100)).max(200).optional().describe('fields whose values are taken out whole'),
    personal: z.array(z.enum(personalKinds)).optional().describe('kinds of personal data'),
    patterns: z.array(patternSchema).max(50).optional().describe('own patterns, RE2'),
  })
  .describe('what is taken out before anything is stored; secrets always are');
export type Redaction = z.infer<typeof redactionSchema>;

/** Rules of stored JSON text. Throws for what `redactionSchema` did not let through. */
export function parseRules(text: string): RedactionRules {
  const { fields = [], personal = [], patterns = [] } = redactionSchema.parse(JSON.parse(text));
  return {
    fields: new Set(fields.map((field) => field.toLowerCase())),
    personal,
    replaceAll: patterns.map((pattern) => {
      const compiled = RE2JS.compile(pattern);
      return (value: string) => compiled.matcher(value).replaceAll(redacted);
    }),
  };
}

function compiles(pattern: string): boolean {
  try {
    RE2JS.compile(pattern);
    return true;
  } catch {
    return false;
  }
}
