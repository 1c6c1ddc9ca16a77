import { expect, it } from 'vitest';
import { createBodyGate } from './body-gate.ts';
import { OpenAiError } from './openai-errors.ts';

const mebibyte = 2 ** 20;

it('M18: lets large bodies in as long as they fit together, and small ones always', () => {
  const gate = createBodyGate(10 * mebibyte);
  const leave = gate.enter(6 * mebibyte);
  expect(() => gate.enter(6 * mebibyte)).toThrow(OpenAiError);
  gate.enter(4 * mebibyte);
  gate.enter(mebibyte);
  gate.enter(Number.NaN);
  leave();
  leave();
  gate.enter(6 * mebibyte);
  expect(() => gate.enter(2 * mebibyte)).toThrow(OpenAiError);
});
