import { describe, expect, test } from 'vitest';
import { createTargets, TargetNotAllowedError } from './targets.ts';

const targets = createTargets([]);

describe('targets', () => {
  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://0/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://①②⑦.0.0.1/',
    'http://127.0.0.1./',
    'http://169.254.169.254/latest/meta-data',
    'http://168.63.129.16/',
    'http://10.1.2.3/',
    'http://172.16.0.1/',
    'http://192.168.0.1/',
    'http://100.64.0.1/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
  ])('C19: %s is refused by its literal', (text) => {
    expect(targets.problemOf(new URL(text))).toMatch(/private or reserved/);
  });

  test.each(['http://93.184.216.34/', 'https://[2606:4700::1111]/', 'https://example.com/'])(
    '%s may be asked',
    (text) => {
      expect(targets.problemOf(new URL(text))).toBeUndefined();
    },
  );

  test('other schemes and addresses with a password are refused', () => {
    expect(targets.problemOf(new URL('file:///etc/passwd'))).toMatch(/scheme/);
    expect(targets.problemOf(new URL('http://user:pw@example.com/'))).toMatch(/user name/);
  });

  test('C19: a name that resolves to a private address is refused when it is resolved', async () => {
    await expect(targets.problemOfHost('localhost')).resolves.toMatch(/localhost is private/);
    const failure = await new Promise((resolve) => targets.lookup('localhost', { all: true }, resolve));
    expect(failure).toBeInstanceOf(TargetNotAllowedError);
  });

  test('what the operator allows by name may be reached, under that name only', async () => {
    const allowing = createTargets(['127.0.0.1', 'localhost', '::1']);
    expect(allowing.problemOf(new URL('http://127.0.0.1:8080/'))).toBeUndefined();
    expect(allowing.problemOf(new URL('http://2130706433/'))).toBeUndefined();
    expect(allowing.problemOf(new URL('http://[::1]/'))).toBeUndefined();
    expect(allowing.problemOf(new URL('http://127.0.0.2/'))).toMatch(/private/);
    await expect(allowing.problemOfHost('localhost')).resolves.toBeUndefined();
  });
});
