/**
 * Money: whole nano units (10^-9) as bigint in code and as a decimal string in JSON. No floats, ever.
 */
import { z } from 'zod';

/** A whole number of nano-USD as decimal digits; negative only in corrections. */
export const nanoUsdSchema = z.string().regex(/^-?\d{1,30}$/, 'must be a whole number of nano-USD as a string');

/** A non-negative decimal amount as text with up to nine decimals, for example `"0.40"`. */
export const decimalSchema = z
  .string()
  .regex(/^\d{1,15}(\.\d{1,9})?$/, 'must be a non-negative decimal number as a string with up to 9 decimals');

/** An ISO 4217 currency code. */
export const currencySchema = z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code such as USD');

export const moneySchema = z.strictObject({ amount: decimalSchema, currency: currencySchema });
export type Money = z.infer<typeof moneySchema>;

/** How a sum is shown over HTTP. `amount` is decimal text in `currency`. */
export const moneyViewSchema = z.object({ nanoUsd: nanoUsdSchema, amount: z.string(), currency: z.literal('USD') });
export type MoneyView = z.infer<typeof moneyViewSchema>;

/** Nano units of a decimal text with up to nine decimals, exact. `"0.40"` → `400_000_000n`. Throws TypeError on other text. */
export function parseNano(amount: string): bigint {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(amount) ?? [];
  if (sign === undefined) throw new TypeError(`not a decimal with up to nine decimals: ${amount}`);
  const nano = BigInt(whole + fraction.padEnd(9, '0'));
  return sign === '-' ? -nano : nano;
}

/** Decimal text of nano units with at least two decimals. `400_000_000n` → `"0.40"`. */
export function formatNano(nano: bigint): string {
  const sign = nano < 0n ? '-' : '';
  const absolute = nano < 0n ? -nano : nano;
  const fraction = (absolute % 1_000_000_000n)
    .toString()
    .padStart(9, '0')
    .replace(/0{1,7}$/, '');
  return `${sign}${absolute / 1_000_000_000n}.${fraction}`;
}

/** The HTTP form of a sum in nano-USD. */
export function viewNanoUsd(nano: bigint): MoneyView {
  return { nanoUsd: nano.toString(), amount: formatNano(nano), currency: 'USD' };
}
