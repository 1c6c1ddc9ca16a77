/** Numbers, times and money as people read them, in the three languages. Pure: the present time comes in. */
import type { MoneyView } from '@pawl/contracts';

export type Language = 'en' | 'zh' | 'pt';

/** Tags for Intl. */
export const localeOf: Record<Language, string> = { en: 'en-US', zh: 'zh-CN', pt: 'pt-BR' };

const minus = '\u2212';
const figureSpace = '\u2007';
const pointSpace = '\u2008';

/** A number's own digits with thousands set apart: `-3500000.50` → `−3,500,000.50`. Exponents stay as they are. */
export function groupDigits(text: string, language: Language = 'en'): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) return text.replace(/^-/, minus);
  const [, sign, whole = '', fraction] = match;
  const [group, point] = language === 'pt' ? ['.', ','] : [',', '.'];
  const head = whole.length % 3 || 3;
  const grouped = [whole.slice(0, head), ...(whole.slice(head).match(/\d{3}/g) ?? [])].join(group);
  return (sign ? minus : '') + grouped + (fraction === undefined ? '' : point + fraction);
}

/** Whether numbers of this name say which one it is, not how much. */
export function isNumberName(name: string, texts: readonly string[]): boolean {
  return /(^|_|\b)(id|year|code|number|no|zip|phone|port)$/i.test(name) || texts.every((text) => isYear(text));
}

/** How the numbers of one table column are written: grouped unless they name something, points below each other. */
export function columnFormat(
  name: string,
  texts: readonly string[],
  language: Language = 'en',
): (text: string) => string {
  const isName = isNumberName(name, texts);
  const fractionMax = Math.max(0, ...texts.map(fractionLength));
  return (text) => {
    const shown = isName ? text.replace(/^-/, minus) : groupDigits(text, language);
    const own = fractionLength(text);
    if (own === fractionMax || /e/i.test(text)) return shown;
    return shown + (own === 0 ? pointSpace : '') + figureSpace.repeat(fractionMax - own);
  };
}

function isYear(text: string): boolean {
  return /^(19|20)\d\d$/.test(text);
}

function fractionLength(text: string): number {
  return /^-?\d+\.(\d+)$/.exec(text)?.[1]?.length ?? 0;
}

/** `1,204`. */
export function formatCount(count: number, language: Language = 'en'): string {
  return groupDigits(String(count), language);
}

/** `16,400,000` → `16.4M`, `1640万`, `16,4 mi`: for the label of a drawing. */
export function formatShort(value: number, language: Language = 'en'): string {
  const format = { notation: 'compact', maximumSignificantDigits: 3 } as const;
  return new Intl.NumberFormat(localeOf[language], format).format(value);
}

/** `0.042` → `4.2%`. */
export function formatPercent(share: number, language: Language = 'en'): string {
  return new Intl.NumberFormat(localeOf[language], { style: 'percent', maximumFractionDigits: 1 }).format(share);
}

/** `640 byte`, `2.4 MB`. */
export function formatSize(bytes: number, language: Language = 'en'): string {
  const [unit, size] =
    bytes < 1_000 ? (['byte', 1] as const) : bytes < 1e6 ? (['kilobyte', 1e3] as const) : (['megabyte', 1e6] as const);
  const format = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(localeOf[language], format).format(bytes / size);
}

/** An amount in a currency, USD where none is named. */
export type Cost = Pick<MoneyView, 'amount'> & { currency?: string };

/** `USD 0.011061` → `$0.0111`: four decimals below one unless it is whole cents, two above; `< $0.0001` for less than that. */
export function formatCost(cost: Cost | undefined, language: Language = 'en'): string {
  if (!cost) return '–';
  const amount = Number(cost.amount);
  const isCents = /^-?\d+\.\d{2}0*$/.test(cost.amount);
  const digits = amount === 0 ? 0 : Math.abs(amount) >= 1 || isCents ? 2 : 4;
  const format = new Intl.NumberFormat(localeOf[language], {
    style: 'currency',
    currency: cost.currency ?? 'USD',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  if (amount > 0 && amount < 0.0001) return `< ${format.format(0.0001)}`;
  return format.format(amount);
}

/** Nano-USD as decimal digits → the form that `formatCost` takes. */
export function costOfNano(nanoUsd: string): { amount: string } {
  const digits = nanoUsd.padStart(10, '0');
  return { amount: `${digits.slice(0, -9)}.${digits.slice(-9)}` };
}

const units: Record<Language, { s: string; min: string; h: string; d: string }> = {
  en: { s: 's', min: 'min', h: 'h', d: 'd' },
  zh: { s: '秒', min: '分', h: '小时', d: '天' },
  pt: { s: 's', min: 'min', h: 'h', d: 'd' },
};

/** `38 ms`, `3.2 s`, `2 min 5 s`, `3 h 10 min`, `2 d 4 h`. */
export function formatDuration(durationMs: number | null | undefined, language: Language = 'en'): string {
  if (durationMs === null || durationMs === undefined) return '–';
  const unit = units[language];
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${groupDigits((durationMs / 1_000).toFixed(1), language)} ${unit.s}`;
  const seconds = Math.round(durationMs / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes} ${unit.min} ${seconds % 60} ${unit.s}`;
  if (hours < 48) return `${hours} ${unit.h} ${minutes % 60} ${unit.min}`;
  return `${Math.floor(hours / 24)} ${unit.d} ${hours % 24} ${unit.h}`;
}

/** `5 minutes ago`, `yesterday`, `in 3 hours`, else the date. */
export function formatAge(iso: string, nowMs: number, language: Language = 'en'): string {
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1_000);
  const distance = Math.abs(seconds);
  const relative = new Intl.RelativeTimeFormat(localeOf[language], { numeric: 'auto' });
  if (distance < 45) return relative.format(0, 'second');
  if (distance < 3_600) return relative.format(Math.round(seconds / 60), 'minute');
  if (distance < 86_400) return relative.format(Math.round(seconds / 3_600), 'hour');
  if (distance < 7 * 86_400) return relative.format(Math.round(seconds / 86_400), 'day');
  return formatTime(iso, language);
}

/** Date and time in the reader's own zone. */
export function formatTime(iso: string, language: Language = 'en'): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  return time.toLocaleString(localeOf[language], { dateStyle: 'medium', timeStyle: 'medium' });
}

/** A time of these days, to the minute. */
export function formatMinute(iso: string, language: Language = 'en'): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return iso;
  return time.toLocaleString(localeOf[language], {
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
  });
}

/** `product_line` → `product line`, `change_pct` → `change %`. */
export function readableName(name: string): string {
  return visibleText(name)
    .replace(/_+|(?<=\p{L})-+(?=\p{L})/gu, ' ')
    .replace(/\bpct\b/g, '%')
    .trim();
}

const hidden = /[\p{Cc}\u200b\u200e\u200f\u061c\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** Makes control characters and overrides of the writing direction visible, so that no text can pose as another. */
export function visibleText(text: string): string {
  return text.replace(hidden, (char) => {
    const code = char.charCodeAt(0);
    if (char === '\n' || char === '\t') return char;
    if (char === '\r') return '';
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;

/** A text as a part of a sentence: one that runs from the right doesn't carry off what stands beside it. */
export function isolated(text: string): string {
  return rightToLeft.test(text) ? `\u2068${text}\u2069` : text;
}
