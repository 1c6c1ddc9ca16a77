import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTargets, TargetNotAllowedError, type Targets } from './targets.ts';

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

  test('addresses of IPv6 that nobody is given are refused', () => {
    for (const text of ['http://[1::1]/', 'http://[4000::1]/', 'http://[fec0::1]/', 'http://[2001:db8::1]/'])
      expect(targets.problemOf(new URL(text))).toMatch(/private or reserved/);
  });

  test('localhost has to be allowed by its name', () => {
    const allowing = createTargets(['127.0.0.1']);
    expect(allowing.problemOf(new URL('http://localhost./'))).toMatch(/localhost is private/);
    expect(allowing.problemOf(new URL('http://a.localhost/'))).toMatch(/private/);
    expect(createTargets(['localhost']).problemOf(new URL('http://localhost/'))).toBeUndefined();
  });

  test('what the operator allows may be reached, and nothing beside it', () => {
    const allowing = createTargets(['127.0.0.1', '::1']);
    expect(allowing.problemOf(new URL('http://127.0.0.1:8080/'))).toBeUndefined();
    expect(allowing.problemOf(new URL('http://2130706433/'))).toBeUndefined();
    expect(allowing.problemOf(new URL('http://[::1]/'))).toBeUndefined();
    expect(allowing.problemOf(new URL('http://127.0.0.2/'))).toMatch(/private/);
  });
});

/** A resolver with the answers to each question for a name, the last one again and again. */
function resolverOf(answers: string[][]) {
  let asked = 0;
  const resolve = (...[, , callback]: [unknown, unknown, (error: null, found: object[]) => void]) => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return resolve as never;
}

describe('connections', () => {
  const server = createServer((request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
    else response.end('reached');
  });
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => void server.close());

  const opened: Agent[] = [];
  afterAll(async () => void (await Promise.all(opened.map((each) => each.destroy()))));
  async function get(of: Targets, address: string): Promise<unknown> {
    const dispatcher = new Agent({ connect: of.connector({ timeout: 1_000 }), pipelining: 0 });
    opened.push(dispatcher);
    const response = await fetch(address, { dispatcher }).catch((error: Error) => error);
    return response instanceof Error ? response.cause : await response.text();
  }

  test('C19: go to no private address that a name resolves to, also when it did not do so before', async () => {
    const rebinding = createTargets(['other.example'], resolverOf([['127.0.0.1'], ['10.0.0.1', '::1', '127.0.0.1']]));
    expect(await get(rebinding, `http://other.example:${port}/`)).toBe('reached');
    expect(await get(rebinding, `http://rebinding.example:${port}/`)).toBeInstanceOf(TargetNotAllowedError);
  });

  test('C19: go to no private literal, also by a redirect', async () => {
    const allowing = createTargets(['127.0.0.1']);
    expect(await get(allowing, `http://127.0.0.1:${port}/`)).toBe('reached');
    expect(await get(allowing, `http://127.0.0.1:${port}/away`)).toBeInstanceOf(TargetNotAllowedError);
    expect(await get(targets, `http://127.0.0.1:${port}/`)).toBeInstanceOf(TargetNotAllowedError);
  });

  test('take of several addresses those that may be reached', async () => {
    const allowing = createTargets(['127.0.0.1'], resolverOf([['10.0.0.1', '127.0.0.1']]));
    expect(await get(allowing, `http://two.example:${port}/`)).toBe('reached');
  });

  test('C19: of clients that connect a socket themselves are held to the same', async () => {
    const open = (of: Targets, ...where: [port: number, host: string] | [path: string]) =>
      new Promise<unknown>((resolve) => {
        const socket = of.createSocket();
        socket.on('error', resolve).on('connect', () => {
          socket.destroy();
          resolve('reached');
        });
        socket.connect(...(where as [number, string]));
      });
    const named = resolverOf([['127.0.0.1']]);
    expect(await open(createTargets(['127.0.0.1']), port, '127.0.0.1')).toBe('reached');
    expect(await open(createTargets(['a.example'], named), port, 'a.example')).toBe('reached');
    expect(await open(createTargets([], named), port, 'a.example')).toBeInstanceOf(TargetNotAllowedError);
    expect(await open(targets, port, '127.0.0.1')).toBeInstanceOf(TargetNotAllowedError);
    expect(await open(createTargets(['127.0.0.1']), '/var/run/a-socket')).toBeInstanceOf(TargetNotAllowedError);
  });
});
