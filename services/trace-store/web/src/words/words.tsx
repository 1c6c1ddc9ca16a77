/** What the page says, in the reader's language; numbers, money and times in the forms of that language. */
import i18next, { type TOptions } from 'i18next';
import { useMemo } from 'react';
import { initReactI18next, useTranslation } from 'react-i18next';
import { keepLanguage } from '../preferences.ts';
import {
  columnFormat,
  formatAge,
  formatCost,
  formatCount,
  formatDuration,
  formatMinute,
  formatPercent,
  formatShort,
  formatSize,
  formatTime,
  groupDigits,
  isolated,
  localeOf,
  type Cost,
  type Language,
} from '../record/format.ts';
import { en } from './en.ts';

type Stem<K> = K extends `${infer Base}_${'one' | 'other'}` ? Base : K;

/** Keys of the dictionary; those with a plural are named without it. */
export type WordKey = Stem<keyof typeof en>;
export type Dictionary = Record<keyof typeof en, string>;

const loaders: Record<Language, () => Promise<Dictionary>> = {
  en: async () => en,
  zh: async () => (await import('./zh.ts')).zh,
  pt: async () => (await import('./pt.ts')).pt,
};

/** Loads a language's words and makes it the page's. */
export async function startWords(language: Language): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: 'en',
    resources: { en: { translation: en } },
    keySeparator: false,
    nsSeparator: false,
    // React escapes.
    interpolation: { escapeValue: false },
    react: { useSuspense: false },
  });
  await speak(language);
}

/** Changes the language, and remembers it when the reader chose it. */
export async function changeLanguage(language: Language): Promise<void> {
  keepLanguage(language);
  await speak(language);
}

async function speak(language: Language): Promise<void> {
  i18next.addResourceBundle(language, 'translation', await loaders[language]());
  await i18next.changeLanguage(language);
  document.documentElement.lang = localeOf[language];
}

/** The words and forms of the present language. */
export function useWords() {
  const { i18n } = useTranslation();
  const language = i18n.language as Language;
  return useMemo(() => wordsIn(language), [language]);
}

export type Words = ReturnType<typeof wordsIn>;

/** The words and forms of a language whose dictionary is loaded. */
function wordsIn(language: Language) {
  const t = i18next.getFixedT(language);
  return {
    language,
    say: (key: WordKey, values: TOptions = {}): string => t(key, isolateTexts(values)),
    /** A word of a closed list such as `status.`; a value that is new stands for itself. */
    wordFor: (list: string, value: string): string => t(`${list}.${value}`, { defaultValue: value }),
    count: (count: number) => formatCount(count, language),
    digits: (text: string) => groupDigits(text, language),
    column: (name: string, texts: readonly string[]) => columnFormat(name, texts, language),
    short: (value: number) => formatShort(value, language),
    percent: (share: number) => formatPercent(share, language),
    size: (bytes: number) => formatSize(bytes, language),
    cost: (cost: Cost | undefined) => formatCost(cost, language),
    duration: (durationMs: number | null | undefined) => formatDuration(durationMs, language),
    time: (iso: string) => formatTime(iso, language),
    minute: (iso: string) => formatMinute(iso, language),
    age: (iso: string, nowMs = Date.now()) => formatAge(iso, nowMs, language),
  };
}

function isolateTexts(values: TOptions): TOptions {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? isolated(value) : value]),
  );
}
