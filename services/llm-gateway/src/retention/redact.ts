/** What apps want taken out of what models said before the gateway stores it, as the record of runs does. */
import type { RedactionRulesOf } from '@pawl/bus';
import { noRules, redactJson, type RedactionRules } from '@pawl/redaction';

/** JSON text of an app without secrets and without what the app wants out. */
export type Redact = (app: string, text: string) => string;

export function createRedact(rules: RedactionRulesOf<RedactionRules>): Redact {
  return (app, text) => redactJson(text, rules.of(app) ?? noRules);
}
