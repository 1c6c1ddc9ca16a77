/**
 * Prices of known models, from the table of `@pydantic/genai-prices`, turned into exact integers.
 * A row that holds anything a chat could be billed for and this code can't bound counts as unknown. No I/O: the table
 * ships with the package and is never updated over the network.
 */
import { calcPrice, type ModelPrice as TableRow } from '@pydantic/genai-prices';
import type { ModelPrice, PriceTier } from './model-price.ts';

type Rate = TableRow[string];

/** Meters that a chat of text without the provider's own tools never runs. */
const unusedMeters = /^(web|social|storage|rerank)_searches_kcount$|(^|_)(audio|image|video)(_|$)|_(kpages|hours)$/;

const knownMeters = new Set([
  'input_mtok',
  'output_mtok',
  'cache_read_mtok',
  'cache_write_mtok',
  'cache_write_1h_mtok',
  'cache_write_5m_mtok',
  'output_reasoning_mtok',
  'requests_kcount',
]);

/** The price of a model at a time, or undefined when the table doesn't have one. Unknown providers are never guessed. */
export function findTablePrice(
  of: { provider: string; model: string },
  at: Date,
  isInputOnly = false,
): ModelPrice | undefined {
  const found = calcPrice({}, of.model, { providerId: of.provider, timestamp: at });
  if (!found) return undefined;
  const row = isInputOnly
    ? { ...found.model_price, output_mtok: found.model_price['output_mtok'] ?? 0 }
    : found.model_price;
  return priceOfRow(row, `genai-prices ${found.provider.id}/${found.model.id}`);
}

/** The exact price of a row, or undefined when it can't price every chat. */
export function priceOfRow(row: TableRow, source: string): ModelPrice | undefined {
  const meters = Object.keys(row).filter((meter) => row[meter] !== undefined && !unusedMeters.test(meter));
  if (meters.some((meter) => !knownMeters.has(meter))) return undefined;
  const { input_mtok: input, output_mtok: output } = row;
  if (input === undefined || output === undefined) return undefined;
  const perRequest = row['requests_kcount'];
  if (perRequest !== undefined && typeof perRequest !== 'number') return undefined;

  const tierAt = (above: number): PriceTier => ({
    aboveInputTokens: above,
    input: nanoAt(input, above),
    output: nanoAt(output, above),
    cachedInput: nanoAt(row['cache_read_mtok'] ?? input, above),
    cacheWrite: nanoAt(row['cache_write_mtok'] ?? row['cache_write_5m_mtok'] ?? input, above),
    reasoning: nanoAt(row['output_reasoning_mtok'] ?? output, above),
  });
  const starts = [...knownMeters].flatMap((meter) => startsOf(row[meter]));
  const later = [...new Set(starts)].toSorted((a, b) => a - b).map(tierAt);
  return { tiers: [tierAt(-1), ...later], perRequest: thousandth(nanoOf(perRequest ?? 0)), source };
}

function startsOf(rate: Rate): number[] {
  return rate === undefined || typeof rate === 'number' ? [] : rate.tiers.map((tier) => tier.start);
}

function nanoAt(rate: NonNullable<Rate>, above: number): bigint {
  if (typeof rate === 'number') return nanoOf(rate);
  const tier = rate.tiers.toSorted((a, b) => a.start - b.start).findLast((candidate) => above >= candidate.start);
  return nanoOf(tier?.price ?? rate.base);
}

/** Nano units of a table number. The table's numbers have at most 9 decimals, so this undoes the float exactly. */
function nanoOf(amount: number): bigint {
  const [whole = '0', fraction = ''] = amount.toFixed(9).split('.');
  return BigInt(whole) * 1_000_000_000n + BigInt(fraction);
}

function thousandth(nano: bigint): bigint {
  return (nano + 999n) / 1_000n;
}
