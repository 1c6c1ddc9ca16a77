import { expect, it } from 'vitest';
import { createSecretSource, resolveSecrets } from './secrets.ts';

const find = createSecretSource({
  PAWL_SECRET_A: 'one',
  A: 'other',
  B: 'two',
  PAWL_ADMIN_KEY: 'never',
  PAWL_SECRET_EMPTY: '',
});

it('puts values in, the prefixed name first', () => {
  expect(resolveSecrets('Bearer ${secret:A}-${secret:B}', find)).toEqual({ text: 'Bearer one-two' });
  expect(resolveSecrets('plain', find)).toEqual({ text: 'plain' });
});

it('names what is missing, and never gives configuration away', () => {
  expect(resolveSecrets('${secret:PAWL_ADMIN_KEY} ${secret:EMPTY} ${secret:C}', find)).toEqual({
    missing: ['PAWL_ADMIN_KEY', 'EMPTY', 'C'],
  });
});
