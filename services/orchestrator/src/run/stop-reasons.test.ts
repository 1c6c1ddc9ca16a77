import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { stopReasons } from '@pawl/contracts';
import { started, stateOf } from './story.suite.ts';
import { resumableReasons } from './stop.ts';
import { stopDetail } from './stop-detail.ts';

const documented = readFileSync(new URL('../../../../docs/stop-reasons.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => {
    const row = /^\| `(\w+)` \| (\w+) \| (.+) \| (.+) \|$/.exec(line);
    return row ? [{ reason: row[1], status: row[2] }] : [];
  });

it('tells every stop reason in the docs, and no other', () => {
  expect(new Set(documented.map(({ reason }) => reason))).toEqual(new Set(stopReasons));
  expect(documented).toHaveLength(stopReasons.length);
});

it.each(stopReasons)('says in the docs what becomes of a run that stops with %s', (reason) => {
  const isWaiting = reason.startsWith('waiting_');
  const status = isWaiting ? 'waiting' : resumableReasons.includes(reason) ? 'paused' : 'ended';
  expect(documented.find((row) => row.reason === reason)?.status).toBe(status);
});

it.each(stopReasons)('has a sentence for people on %s', (reason) => {
  expect(stopDetail(stateOf(started()), reason)).toMatch(/^[A-Z].*\.$/);
});
