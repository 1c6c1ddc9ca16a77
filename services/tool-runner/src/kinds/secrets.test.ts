import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createSecrets, fillSecrets } from './secrets.ts';

const folder = mkdtempSync(join(tmpdir(), 'pawl-secrets-'));
mkdirSync(join(folder, 'shop'));
writeFileSync(join(folder, 'shop', 'FILED'), 'from a file\n');
afterAll(() => rmSync(folder, { recursive: true }));

const variables = {
  PAWL_SECRET_TOKEN: 'for all',
  PAWL_SECRET_MY_SHOP_TOKEN: 'of my-shop',
  PAWL_SECRET_SHOP_KEY: 'of shop',
  PAWL_SECRET_SHOP_EAST_KEY: 'of shop-east',
  PAWL_SECRET_EMPTY: '',
  TOKEN_OF_OURS: 'never',
  PAWL_DATABASE_URL: 'never',
};
const secrets = createSecrets({ variables, folder, apps: () => ['my-shop', 'shop', 'shop-east', 'evil'] });

test.each([
  ['my-shop', 'TOKEN', 'of my-shop'],
  ['shop', 'TOKEN', 'for all'],
  ['shop', 'KEY', 'of shop'],
  ['shop-east', 'KEY', 'of shop-east'],
  ['shop', 'FILED', 'from a file'],
  ['shop-east', 'FILED', undefined],
  ['shop', 'EMPTY', undefined],
  ['shop', 'TOKEN_OF_OURS', undefined],
  ['shop', 'DATABASE_URL', undefined],
  ['shop', 'NONE', undefined],
])('app %s gets for %s: %s', (app, name, expected) => expect(secrets(app)(name)).toBe(expected));

test.each([
  ['evil', 'MY_SHOP_TOKEN'],
  ['evil', 'SHOP_KEY'],
  ['shop', 'EAST_KEY'],
  ['evil', '../shop/FILED'],
])('app %s does not get the secret of another app by the name %s', (app, name) => {
  expect(secrets(app)(name)).toBeUndefined();
  expect(fillSecrets(`\${secret:${name}}`, secrets(app))).not.toEqual({ text: expect.stringContaining('of ') });
});
