import { describe, expect, test } from 'vitest';
import { type OrderRow, createSalesData } from './sales-data.ts';

const data = createSalesData();
const byId = new Map(data.orders.map((order) => [order.id, order]));

function revenueCents(month: string, isCounted: (order: OrderRow) => boolean = () => true): number {
  return data.orders
    .filter((order) => order.status === 'completed' && order.orderedOn.startsWith(month) && isCounted(order))
    .reduce((sum, order) => sum + order.amountCents, 0);
}

function changePercent(from: number, to: number): number {
  return (100 * (to - from)) / from;
}

function monthChange(isCounted?: (order: OrderRow) => boolean): number {
  return changePercent(revenueCents('2026-01', isCounted), revenueCents('2026-02', isCounted));
}

describe('the figures of the story', () => {
  test('February is 18 % under January and 12 % under the February before', () => {
    expect(Math.round(monthChange())).toBe(-18);
    expect(Math.round(changePercent(revenueCents('2025-02'), revenueCents('2026-02')))).toBe(-12);
  });

  test('line C falls by 42 %, the other lines move by less than 1.5 %', () => {
    expect(Math.round(monthChange((order) => order.productLine === 'C'))).toBe(-42);
    for (const line of ['A', 'B', 'D']) {
      expect(Math.abs(monthChange((order) => order.productLine === line))).toBeLessThan(1.5);
    }
  });

  test('only South China falls among the regions', () => {
    expect(monthChange((order) => order.region === 'South China')).toBeLessThan(-30);
    for (const region of ['East China', 'North China', 'West China']) {
      expect(Math.abs(monthChange((order) => order.region === region))).toBeLessThan(1.5);
    }
  });

  test('Customer A falls from 3.5 M to 0.5 M, exactly, all of it line C in South China', () => {
    expect(revenueCents('2026-01', (order) => order.customer === 'Customer A')).toBe(350_000_000);
    expect(revenueCents('2026-02', (order) => order.customer === 'Customer A')).toBe(50_000_000);
    const places = data.orders.filter((order) => order.customer === 'Customer A');
    expect(new Set(places.map((order) => order.productLine + order.region))).toEqual(new Set(['CSouth China']));
  });

  test('no other customer moves by more than a tenth of what Customer A loses', () => {
    const others = new Set(data.orders.map((order) => order.customer));
    others.delete('Customer A');
    for (const customer of others) {
      const isTheirs = (order: OrderRow) => order.customer === customer;
      const change = revenueCents('2026-02', isTheirs) - revenueCents('2026-01', isTheirs);
      expect(Math.abs(change), customer).toBeLessThan(30_000_000);
    }
  });

  test('exactly one large order is cancelled: 3 M on 15 February by Customer A, with a reason', () => {
    const large = data.orders.filter((order) => order.status === 'cancelled' && order.amountCents > 50_000_000);
    expect(large).toMatchObject([{ orderedOn: '2026-02-15', customer: 'Customer A', amountCents: 300_000_000 }]);
    const cancellation = data.cancellations.find((one) => one.orderId === large[0]?.id);
    expect(cancellation).toMatchObject({ cancelledOn: '2026-02-18', reason: expect.stringMatching(/postponed/) });
  });
});

describe('the rows', () => {
  test('are tens of thousands over 24 full months', () => {
    expect(data.orders.length).toBeGreaterThan(30_000);
    expect(new Set(data.orders.map((order) => order.orderedOn.slice(0, 7))).size).toBe(24);
    expect(data.orders[0]?.orderedOn).toBe('2024-03-01');
    expect(data.orders.at(-1)?.orderedOn).toBe('2026-02-28');
  });

  test('are the same for the same seed and others for another', () => {
    expect(createSalesData()).toEqual(data);
    expect(createSalesData(7).orders.slice(0, 100)).not.toEqual(data.orders.slice(0, 100));
  });

  test('keep the sums with any seed', () => {
    const sum = (orders: OrderRow[]) =>
      orders.filter((order) => order.status === 'completed').reduce((total, order) => total + order.amountCents, 0);
    expect(sum(createSalesData(7).orders)).toBe(sum(data.orders));
  });

  test('have positive whole cents, real days, one cancellation for each cancelled order', () => {
    for (const order of data.orders) {
      expect(Number.isInteger(order.amountCents) && order.amountCents > 0).toBe(true);
      expect(new Date(order.orderedOn).toISOString().slice(0, 10)).toBe(order.orderedOn);
    }
    const cancelled = data.orders.filter((order) => order.status === 'cancelled').map((order) => order.id);
    expect(data.cancellations.map((one) => one.orderId)).toEqual(cancelled);
    for (const one of data.cancellations) {
      expect(one.cancelledOn > (byId.get(one.orderId)?.orderedOn ?? '')).toBe(true);
    }
  });
});
