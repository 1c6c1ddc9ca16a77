import { expect, it } from 'vitest';
import { createSecretSource, resolveSecrets } from './secrets.ts';

const secrets = createSecretSource(
  {
    PAWL_SECRET_MY_SHOP_A: 'of the shop',
    PAWL_SECRET_A: 'one',
    PAWL_SECRET_B: 'two',
    A: 'other',
    AWS_SECRET_ACCESS_KEY: 'never',
    PAWL_ADMIN_KEY: 'never',
    PAWL_SECRET_EMPTY: '',
  },
  () => ['demo', 'my-shop', 'my'],
);

const find = (name: string) => secrets('demo', name);

it('gives an app its own value, where it has one', () => {
  expect(secrets('my-shop', 'A')).toBe('of the shop');
  expect(secrets('my-shop', 'B')).toBe('two');
  expect(secrets('demo', 'MY_SHOP_A')).toBeUndefined();
  expect(secrets('my', 'SHOP_A')).toBeUndefined();
});

it('puts values in', () => {
  expect(resolveSecrets('Bearer ${secret:A}-${secret:B}', find)).toEqual({ text: 'Bearer one-two' });
  expect(resolveSecrets('plain', find)).toEqual({ text: 'plain' });
});

it('names what is missing, and reaches no variable that is not meant as a secret', () => {
  const text = '${secret:PAWL_ADMIN_KEY} ${secret:AWS_SECRET_ACCESS_KEY} ${secret:EMPTY} ${secret:C}';
  expect(resolveSecrets(text, find)).toEqual({
    missing: ['PAWL_ADMIN_KEY', 'AWS_SECRET_ACCESS_KEY', 'EMPTY', 'C'],
  });
});
