/**
 * Functions that expressions may call beside JSONata's own. Pure: no clock, no locale of the machine.
 * A missing argument gives undefined, as JSONata's own functions do.
 */

const MINUS = '\u2212';
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const MONTH_WORD =
  /\b(?:[Jj]anuary|[Ff]ebruary|[Mm]arch|[Aa]pril|May|[Jj]une|[Jj]uly|[Aa]ugust|[Ss]eptember|[Oo]ctober|[Nn]ovember|[Dd]ecember)\b/;

/** `$fmt(n, digits = 0)`: 1234.5 → "1,235"; negative numbers get a real minus sign. */
export function formatNumber(value: number | undefined, digits = 0): string | undefined {
  if (value === undefined) return undefined;
  const text = Math.abs(value).toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** `$signed(n, digits = 0)`: as `$fmt` with a sign also in front of positive numbers: 3 → "+3". */
export function formatSigned(value: number | undefined, digits = 0): string | undefined {
  const text = formatNumber(value, digits);
  return text !== undefined && value !== undefined && value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
}

/** `$pct(from, to, digits = 0)`: the change in percent, rounded, as a number; undefined when `from` is 0. */
export function percentChange(from: number | undefined, to: number | undefined, digits = 0): number | undefined {
  if (from === undefined || to === undefined || from === 0) return undefined;
  const factor = 10 ** digits;
  const rounded = Math.round((Math.abs(to - from) / Math.abs(from)) * 100 * factor) / factor;
  return to < from && rounded !== 0 ? -rounded : rounded;
}

/** `$short(n)`: 3012345 → "3.0 M", 500000 → "0.5 M", 54321 → "54 K", 12 → "12". */
export function formatShort(value: number | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (Math.abs(value) >= 99_500) return `${formatNumber(value / 1_000_000, 1)} M`;
  return Math.abs(value) >= 1_000 ? `${formatNumber(value / 1_000)} K` : formatNumber(value);
}

/** `$monthName("2026-02")` → "February 2026". Text that is no month stays as it is. */
export function monthName(month: string | undefined): string | undefined {
  if (month === undefined) return undefined;
  const [year, number] = month.split('-');
  const name = MONTHS[Number(number) - 1];
  return name === undefined ? month : `${name} ${year}`;
}

/** `$monthAdd("2026-02", -1)` → "2026-01". */
export function addMonths(month: string | undefined, count: number): string | undefined {
  if (month === undefined) return undefined;
  const [year, number] = month.split('-').map(Number);
  if (year === undefined || number === undefined || Number.isNaN(year + number)) return undefined;
  const total = year * 12 + number - 1 + count;
  return `${Math.floor(total / 12)}-${String((((total % 12) + 12) % 12) + 1).padStart(2, '0')}`;
}

/** `$dayName("2026-02-15")` → "15 February". */
export function dayName(day: string | undefined): string | undefined {
  if (day === undefined) return undefined;
  const [, month, date] = day.split('-');
  const name = MONTHS[Number(month) - 1];
  return name === undefined ? day : `${Number((date ?? '').slice(0, 2))} ${name}`;
}

/** `$monthIn(text)`: the number of the first month that the text names ("… in February?" → 2). "may" is no month, "May" is. */
export function monthIn(text: string | undefined): number | undefined {
  const word = MONTH_WORD.exec(text ?? '')?.[0].toLowerCase();
  const index = MONTHS.findIndex((name) => name.toLowerCase() === word);
  return index < 0 ? undefined : index + 1;
}

/** Name, implementation and JSONata signature of every function. */
export const SCRIPT_FUNCTIONS = {
  fmt: [formatNumber, '<n?n?:s>'],
  signed: [formatSigned, '<n?n?:s>'],
  pct: [percentChange, '<n?n?n?:n>'],
  short: [formatShort, '<n?:s>'],
  monthName: [monthName, '<s?:s>'],
  monthAdd: [addMonths, '<s?n:s>'],
  dayName: [dayName, '<s?:s>'],
  monthIn: [monthIn, '<s?:n>'],
} as const;
