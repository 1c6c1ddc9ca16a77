/**
 * The words that the loop itself says to a model, by name and language. `{name}` marks what is filled in.
 * An agent may replace each of them.
 */
import type { AgentSpec, wordNames } from '@pawl/contracts';
import { english } from './english.ts';
import { chinese } from './chinese.ts';
import { portuguese } from './portuguese.ts';

export type Words = Readonly<Record<(typeof wordNames)[number], string>>;

const languages = { en: english, zh: chinese, pt: portuguese } as const;

/** The words that an agent's runs use: its own, else those of its language. */
export function wordsOf(spec: AgentSpec): Words {
  return { ...languages[spec.language ?? 'en'], ...spec.words };
}

/** A text with its marks filled in; a mark without a value stays. */
export function fillIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (mark, name: string) => values[name] ?? mark);
}
