import { RejectedError } from '@pawl/contracts';
import { expect, it } from 'vitest';
import { createBodyGate } from './body-gate.ts';

const mebibyte = 2 ** 20;

it('M18: lets large bodies in as long as they fit together, and small ones always', () => {
  const gate = createBodyGate({ bytesMax: 10 * mebibyte, smallBytes: mebibyte });
  const enter = (bytes: number) => {
    const visit = gate.open();
    visit.grow(bytes);
    return visit;
  };
  const first = enter(6 * mebibyte);
  expect(() => enter(6 * mebibyte)).toThrow(RejectedError);
  enter(4 * mebibyte);
  enter(mebibyte);
  first.leave();
  first.leave();
  enter(6 * mebibyte);
  expect(() => enter(2 * mebibyte)).toThrow(RejectedError);
});

it('M18: counts a body whose length was not told as it grows', () => {
  const gate = createBodyGate({ bytesMax: 10 * mebibyte, smallBytes: mebibyte });
  const [one, other] = [gate.open(), gate.open()];
  for (const visit of [one, other]) for (let times = 0; times < 5; times += 1) visit.grow(mebibyte);
  expect(() => one.grow(1)).toThrow(RejectedError);
  one.leave();
  for (let times = 0; times < 5; times += 1) other.grow(mebibyte);
  expect(() => other.grow(1)).toThrow(RejectedError);
});

it('M18: says of a body that would not fit alone either that it is too large', () => {
  let refused = 0;
  const gate = createBodyGate({ bytesMax: 10, onRefused: () => (refused += 1) });
  const visit = gate.open();
  visit.grow(10);
  expect(gate.bytesInside()).toBe(10);
  expect(() => gate.open().grow(1)).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  expect(() => visit.grow(1)).toThrow(expect.objectContaining({ code: 'body_too_large' }));
  visit.leave();
  expect([gate.bytesInside(), refused]).toEqual([0, 2]);
});
