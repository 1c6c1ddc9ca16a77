/**
 * The figures that the sales data must show, month by month: the story behind the question, in cents.
 *
 * Only constants and arithmetic; the rows are made in sales-data.ts.
 * 1. February 2026 is 18 % under January 2026 and 12 % under February 2025 (completed revenue, whole percent).
 * 2. Product line C falls by 42 %; A, B and D move by less than 1.5 %.
 * 3. Customer A (South China, buys line C) falls from 3.5 M to 0.5 M; its order of 15 February over 3 M is cancelled.
 */

export const PRODUCT_LINES = ['A', 'B', 'C', 'D'] as const;
export type ProductLine = (typeof PRODUCT_LINES)[number];

/** Regions with their share of everything but Customer A's revenue. */
export const REGION_SHARES = {
  'East China': 0.3,
  'North China': 0.26,
  'South China': 0.22,
  'West China': 0.22,
} as const;
export type Region = keyof typeof REGION_SHARES;

export const KEY_CUSTOMER = { name: 'Customer A', region: 'South China', productLine: 'C' } as const;

/** The cancelled order: its amount was expected in February and never became revenue. */
export const CANCELLED_ORDER = {
  orderedOn: '2026-02-15',
  cancelledOn: '2026-02-18',
  amountCents: 300_000_000,
  reason: 'Customer postponed its plant expansion to the third quarter and withdrew the order',
} as const;

/** What one month must add up to. All amounts in cents of completed revenue. */
export interface MonthPlan {
  /** `YYYY-MM`. */
  month: string;
  lineCents: Record<ProductLine, number>;
  /** Customer A's part of line C. */
  keyCustomerCents: number;
}

const USUAL_LINE_SHARES: Record<ProductLine, number> = { A: 0.216, B: 0.192, C: 0.429, D: 0.163 };
const USUAL_KEY_CUSTOMER_SHARE = 0.21;

/** Completed revenue of the usual months in thousands, from March 2024 on. */
const USUAL_TOTALS_THOUSANDS: Record<string, number> = {
  '2024-03': 14_870,
  '2024-04': 14_720,
  '2024-05': 15_060,
  '2024-06': 15_310,
  '2024-07': 15_140,
  '2024-08': 15_020,
  '2024-09': 15_480,
  '2024-10': 15_350,
  '2024-11': 15_690,
  '2024-12': 15_940,
  '2025-01': 15_610,
  '2025-02': 15_533.4,
  '2025-03': 15_780,
  '2025-04': 15_660,
  '2025-05': 15_890,
  '2025-06': 16_120,
  '2025-07': 15_970,
  '2025-08': 15_840,
  '2025-09': 16_260,
  '2025-10': 16_180,
  '2025-11': 16_430,
  '2025-12': 16_740,
};

const JANUARY: MonthPlan = {
  month: '2026-01',
  lineCents: { A: 360_000_000, B: 320_000_000, C: 715_000_000, D: 272_000_000 },
  keyCustomerCents: 350_000_000,
};

const FEBRUARY: MonthPlan = {
  month: '2026-02',
  lineCents: { A: 363_600_000, B: 317_440_000, C: 414_700_000, D: 271_200_000 },
  keyCustomerCents: 50_000_000,
};

/** The plan of all 24 months, March 2024 to February 2026. */
export function monthPlans(): MonthPlan[] {
  const usual = Object.entries(USUAL_TOTALS_THOUSANDS).map(([month, thousands]) => usualMonth(month, thousands));
  return [...usual, JANUARY, FEBRUARY];
}

function usualMonth(month: string, totalThousands: number): MonthPlan {
  const totalCents = Math.round(totalThousands * 100_000);
  const part = (share: number) => Math.round(totalCents * share);
  const [A, B, D] = [part(USUAL_LINE_SHARES.A), part(USUAL_LINE_SHARES.B), part(USUAL_LINE_SHARES.D)];
  return {
    month,
    lineCents: { A, B, C: totalCents - A - B - D, D },
    keyCustomerCents: part(USUAL_KEY_CUSTOMER_SHARE),
  };
}
