/** Taking secrets and personal data out of what is about to be stored, by the rules of each app. Pure. */
export { noRules, redactJson, redactText, type RedactionRules } from './redact.ts';
export { parseRules, redactionSchema, type Redaction } from './rules.ts';
