/**
 * Makes the rows of the sales data: over 30,000 orders over two years whose sums are exactly those of plan.ts.
 *
 * Pure: the same seed always gives the same rows; no clock, no `Math.random`.
 * 1. Amounts are whole cents until they leave this file.
 * 2. Completed orders of a month add up to the plan to the cent; cancelled orders come on top and are no revenue.
 */
import {
  CANCELLED_ORDER,
  KEY_CUSTOMER,
  type MonthPlan,
  PRODUCT_LINES,
  type ProductLine,
  REGION_SHARES,
  type Region,
  monthPlans,
} from './plan.ts';
import { type Random, createRandom, distribute } from './random.ts';

/** Raised whenever the rows change; the loader leaves data of any version alone. */
export const DATA_VERSION = 1;
export const DATA_SEED = 20_260_215;

const ORDERS_PER_MONTH = 1_650;
const CANCELLED_PER_MONTH = 26;
const KEY_CUSTOMER_ORDER_AVERAGE_CENTS = 40_000_000;
const CUSTOMERS_PER_REGION = 12;
const AMOUNT_SPREAD = 0.5;
const REASONS = [
  'Ordered twice by mistake',
  'Quantity changed, replaced by a new order',
  'Credit check failed',
  'Delivery date could not be met',
  'Customer found a lower price',
];

export interface OrderRow {
  id: number;
  /** `YYYY-MM-DD`. */
  orderedOn: string;
  productLine: ProductLine;
  region: Region;
  customer: string;
  status: 'completed' | 'cancelled';
  amountCents: number;
}

export interface CancellationRow {
  orderId: number;
  cancelledOn: string;
  reason: string;
}

export interface SalesData {
  orders: OrderRow[];
  cancellations: CancellationRow[];
}

type Draft = Omit<OrderRow, 'id'> & { cancellation?: Omit<CancellationRow, 'orderId'> };

/** All orders in order of date, with ids from 100001, and the cancellations among them. */
export function createSalesData(seed = DATA_SEED): SalesData {
  const random = createRandom(seed);
  const drafts = monthPlans().flatMap((plan) => monthDrafts(plan, random));
  drafts.push({
    orderedOn: CANCELLED_ORDER.orderedOn,
    productLine: KEY_CUSTOMER.productLine,
    region: KEY_CUSTOMER.region,
    customer: KEY_CUSTOMER.name,
    status: 'cancelled',
    amountCents: CANCELLED_ORDER.amountCents,
    cancellation: { cancelledOn: CANCELLED_ORDER.cancelledOn, reason: CANCELLED_ORDER.reason },
  });
  drafts.sort((a, b) => (a.orderedOn < b.orderedOn ? -1 : a.orderedOn > b.orderedOn ? 1 : 0));
  const data: SalesData = { orders: [], cancellations: [] };
  for (const [index, { cancellation, ...draft }] of drafts.entries()) {
    const id = 100_001 + index;
    data.orders.push({ id, ...draft });
    if (cancellation !== undefined) data.cancellations.push({ orderId: id, ...cancellation });
  }
  return data;
}

function monthDrafts(plan: MonthPlan, random: Random): Draft[] {
  const totalCents = PRODUCT_LINES.reduce((sum, line) => sum + plan.lineCents[line], 0);
  const cells = PRODUCT_LINES.flatMap((productLine) => cellsOf(plan, productLine));
  const completed = cells.flatMap((cell) => {
    const count = Math.max(1, Math.round((ORDERS_PER_MONTH * cell.cents) / totalCents));
    return completedOrders({ ...cell, month: plan.month, count, customers: customersOf(cell.region) }, random);
  });
  const keyOrderCount = Math.max(2, Math.round(plan.keyCustomerCents / KEY_CUSTOMER_ORDER_AVERAGE_CENTS));
  const key = { cents: plan.keyCustomerCents, count: keyOrderCount, customers: [KEY_CUSTOMER.name] };
  const keyOrders = completedOrders({ ...KEY_CUSTOMER, ...key, month: plan.month }, random);
  return [...completed, ...keyOrders, ...cancelledOrders(plan.month, random)];
}

function cellsOf(plan: MonthPlan, productLine: ProductLine) {
  const keyCents = productLine === KEY_CUSTOMER.productLine ? plan.keyCustomerCents : 0;
  const cents = distribute(plan.lineCents[productLine] - keyCents, Object.values(REGION_SHARES));
  return regions().map((region, index) => ({ productLine, region, cents: cents[index] ?? 0 }));
}

interface Batch {
  month: string;
  productLine: ProductLine;
  region: Region;
  customers: readonly string[];
  cents: number;
  count: number;
}

function completedOrders(batch: Batch, random: Random): Draft[] {
  const weights = Array.from({ length: batch.count }, () => Math.exp(AMOUNT_SPREAD * random.normal()));
  return distribute(batch.cents, weights).map((amountCents, index) => ({
    orderedOn: random.dayOf(batch.month),
    productLine: batch.productLine,
    region: batch.region,
    customer: batch.customers[index % batch.customers.length] ?? KEY_CUSTOMER.name,
    status: 'completed',
    amountCents,
  }));
}

function cancelledOrders(month: string, random: Random): Draft[] {
  return Array.from({ length: CANCELLED_PER_MONTH }, () => {
    const region = random.pick(regions());
    const orderedOn = random.dayOf(month);
    return {
      orderedOn,
      productLine: random.pick(PRODUCT_LINES),
      region,
      customer: random.pick(customersOf(region)),
      status: 'cancelled',
      amountCents: random.integer(50_000, 1_800_000),
      cancellation: { cancelledOn: random.dayAfter(orderedOn, 9), reason: random.pick(REASONS) },
    };
  });
}

function regions(): Region[] {
  return Object.keys(REGION_SHARES) as Region[];
}

/** Customer B, C … Z, AA, AB …: a fixed dozen for each region, Customer A not among them. */
function customersOf(region: Region): string[] {
  const first = 1 + regions().indexOf(region) * CUSTOMERS_PER_REGION;
  return Array.from({ length: CUSTOMERS_PER_REGION }, (_, index) => customerName(first + index));
}

function customerName(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return `Customer ${index < 26 ? '' : 'A'}${letter}`;
}
