import { describe, expect, it } from 'vitest';
import { AddressError, assertAllowedHost, createGuardedLookup } from './address-guard.ts';

const check = (url: string, allowed: string[] = []) => assertAllowedHost(new URL(url).hostname, allowed);

describe('private hosts', () => {
  it.each([
    'http://127.0.0.1',
    'http://127.1',
    'http://2130706433',
    'http://0177.0.0.1',
    'http://0x7f.1',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:7f00:1]',
    'http://[64:ff9b::7f00:1]',
    'http://[2002:7f00:1::]',
    'http://[fe80::1]',
    'http://[fd00::1]',
    'http://localhost',
    'http://a.localhost.',
    'http://0.0.0.0',
    'http://10.1.2.3',
    'http://169.254.169.254',
    'http://168.63.129.16',
    'http://100.64.0.1',
  ])('%s is refused', (url) => expect(() => check(url)).toThrow(AddressError));

  it('are allowed where they are listed, and public ones always', () => {
    expect(() => check('http://127.0.0.1:8080', ['127.0.0.1'])).not.toThrow();
    expect(() => check('https://api.openai.com')).not.toThrow();
    expect(() => check('https://8.8.8.8')).not.toThrow();
    expect(() => check('https://[2606:4700::1111]')).not.toThrow();
  });

  it('are refused behind a name too', async () => {
    const lookup = (allowed: string[]) =>
      new Promise((resolve, reject) =>
        createGuardedLookup(allowed)('localhost', { all: true }, (error, found) =>
          error ? reject(error) : resolve(found),
        ),
      );
    await expect(lookup([])).rejects.toThrow(AddressError);
    await expect(lookup(['localhost'])).resolves.not.toHaveLength(0);
  });
});
