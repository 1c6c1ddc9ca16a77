/** Numbers, times and money as people read them. Pure: the present time comes in. */

const minus = '\u2212';
const figureSpace = '\u2007';
const pointSpace = '\u2008';

/** A number's own digits with thousands set apart: `-3500000.50` → `−3,500,000.50`. Exponents stay as they are. */
export function groupDigits(text) {
  const match = /^(-?)(\d+)(\.\d+)?$/.exec(text);
  if (!match) return text.replace(/^-/, minus);
  const [, sign, whole, fraction = ''] = match;
  return (sign ? minus : '') + whole.replace(/\B(?=(\d{3})+$)/g, ',') + fraction;
}

/** How the numbers of one table column are written: grouped unless they name something, points below each other. */
export function columnFormat(name, texts) {
  const isName = /(^|_|\b)(id|year|code|number|no|zip|phone|port)$/i.test(name) || texts.every(isYear);
  const fractionMax = Math.max(0, ...texts.map((text) => fractionLength(text)));
  return (text) => {
    const shown = isName ? text.replace(/^-/, minus) : groupDigits(text);
    const own = fractionLength(text);
    if (own === fractionMax || /e/i.test(text)) return shown;
    return shown + (own === 0 ? pointSpace : '') + figureSpace.repeat(fractionMax - own);
  };
}

function isYear(text) {
  return /^(19|20)\d\d$/.test(text);
}

function fractionLength(text) {
  return /^-?\d+\.(\d+)$/.exec(text)?.[1].length ?? 0;
}

/** `1,204`. */
export function formatCount(count) {
  return groupDigits(String(count));
}

/** `USD 0.011061` → `$0.0111`: four decimals below a dollar, two above; never `$0` for something that cost. */
export function formatCost(cost) {
  if (!cost) return '–';
  const amount = Number(cost.amount);
  if (amount === 0) return '$0';
  if (amount < 0.0001) return 'under $0.0001';
  const digits = amount >= 1 ? 2 : 4;
  return `$${groupDigits(amount.toFixed(digits))}`;
}

/** Nano-USD as decimal digits → the form that `formatCost` takes. */
export function costOfNano(nanoUsd) {
  const digits = nanoUsd.padStart(10, '0');
  return { amount: `${digits.slice(0, -9)}.${digits.slice(-9)}` };
}

/** `38 ms`, `3.2 s`, `2 min 5 s`, `3 h 10 min`. */
export function formatDuration(durationMs) {
  if (durationMs === null || durationMs === undefined) return '–';
  if (durationMs < 1_000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${(durationMs / 1_000).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** `just now`, `5 minutes ago`, `yesterday`, else the date. */
export function formatAge(iso, nowMs) {
  const ageSeconds = Math.round((nowMs - Date.parse(iso)) / 1_000);
  if (ageSeconds < 45) return 'just now';
  const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  if (ageSeconds < 3_600) return relative.format(-Math.round(ageSeconds / 60), 'minute');
  if (ageSeconds < 86_400) return relative.format(-Math.round(ageSeconds / 3_600), 'hour');
  if (ageSeconds < 7 * 86_400) return relative.format(-Math.round(ageSeconds / 86_400), 'day');
  return formatTime(iso);
}

/** Date and time in the reader's own zone. */
export function formatTime(iso) {
  return new Date(iso).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'medium' });
}

/** `product_line` → `product line`, `change_pct` → `change %`. */
export function readableName(name) {
  return visibleText(name)
    .replace(/[_-]+/g, ' ')
    .replace(/\bpct\b/g, '%')
    .trim();
}

const hidden = /[\p{Cc}\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Makes control characters and overrides of the writing direction visible, so that no text can pose as another. */
export function visibleText(text) {
  return text.replace(hidden, (char) => {
    const code = char.charCodeAt(0);
    if (char === '\n' || char === '\t') return char;
    if (char === '\r') return '';
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}
