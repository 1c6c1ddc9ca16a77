import { expect, it } from 'vitest';
import { runIdSchema } from '@pawl/contracts';
import { childIdOf } from './child-of.ts';
import { newRunId } from './start-run.ts';

it('T9: a child is born when its parent was, so that it is kept in the same week, and each call has its own', () => {
  const parent = newRunId(Date.parse('2026-03-02T09:00:00.000Z'));
  const ids = [childIdOf(parent, 0, 0), childIdOf(parent, 0, 1), childIdOf(parent, 1, 0)];
  const grandchild = childIdOf(ids[0] ?? '', 0, 0);
  for (const id of [...ids, grandchild]) {
    expect(runIdSchema.safeParse(id).success).toBe(true);
    expect(id.slice(0, 16)).toBe(parent.slice(0, 16));
  }
  expect(new Set([parent, ...ids, grandchild]).size).toBe(5);
  expect(childIdOf(parent, 0, 0)).toBe(ids[0]);
});
