import { expect, it } from 'vitest';
import { chooseCandidate } from './choose-candidate.ts';

const candidate = (model: string, priority?: number) => ({
  provider: 'p',
  model,
  ...(priority === undefined ? {} : { priority }),
});

it('takes the lowest priority number first, then the listed order, and says why', () => {
  const candidates = [candidate('late', 2), candidate('first', 1), candidate('second', 1)];
  const { candidate: chosen, reason } = chooseCandidate('smart', { candidates });
  expect(chosen.model).toBe('first');
  expect(reason).toBe('candidate 2 of 3 of route smart: priority 1, first of 2 in listed order');
});

it('counts a candidate without a priority as 0', () => {
  expect(chooseCandidate('smart', { candidates: [candidate('one', 1), candidate('none')] }).candidate.model).toBe(
    'none',
  );
  expect(chooseCandidate('smart', { candidates: [candidate('one')] }).reason).toBe('the only candidate of route smart');
});
