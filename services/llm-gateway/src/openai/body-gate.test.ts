import { expect, it } from 'vitest';
import { createBodyGate } from './body-gate.ts';
import { OpenAiError } from './openai-errors.ts';

const mebibyte = 2 ** 20;

it('M18: lets large bodies in as long as they fit together, and small ones always', () => {
  const gate = createBodyGate(10 * mebibyte);
  const enter = (bytes: number) => {
    const visit = gate.open();
    visit.grow(bytes);
    return visit;
  };
  const first = enter(6 * mebibyte);
  expect(() => enter(6 * mebibyte)).toThrow(OpenAiError);
  enter(4 * mebibyte);
  enter(mebibyte);
  first.leave();
  first.leave();
  enter(6 * mebibyte);
  expect(() => enter(2 * mebibyte)).toThrow(OpenAiError);
});

it('M18: counts a body whose length was not told as it grows', () => {
  const gate = createBodyGate(10 * mebibyte);
  const [one, other] = [gate.open(), gate.open()];
  for (const visit of [one, other]) for (let times = 0; times < 5; times += 1) visit.grow(mebibyte);
  expect(() => one.grow(1)).toThrow(OpenAiError);
  one.leave();
  for (let times = 0; times < 5; times += 1) other.grow(mebibyte);
  expect(() => other.grow(1)).toThrow(OpenAiError);
});
