/** What a reader chose for this browser: language and colours. Nothing else is remembered. */
import type { Language } from './record/format.ts';

export type Theme = 'system' | 'light' | 'dark';

const languageName = 'pawl.language';
const themeName = 'pawl.theme';

/** The chosen language, else the first of the browser's that the page speaks, else English. */
export function readLanguage(): Language {
  const wanted = [localStorage.getItem(languageName) ?? '', ...navigator.languages];
  for (const tag of wanted) {
    const [language] = tag.toLowerCase().split('-');
    if (language === 'en' || language === 'zh' || language === 'pt') return language;
  }
  return 'en';
}

export function keepLanguage(language: Language): void {
  localStorage.setItem(languageName, language);
}

export function readTheme(): Theme {
  const theme = localStorage.getItem(themeName);
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

/** Applies a theme and keeps it. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(themeName);
  else localStorage.setItem(themeName, theme);
  applyTheme(theme);
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
