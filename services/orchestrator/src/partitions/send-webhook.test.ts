import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTargets, TargetNotAllowedError } from '@pawl/service/targets';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createWebhooks, type Webhooks } from './send-webhook.ts';

const told: IncomingMessage[] = [];
let answer: { status: number; location?: string } = { status: 204 };
const hook = createServer((request, response) => {
  told.push(request);
  response.writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location }).end();
});
const made: Webhooks[] = [];
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  port = (hook.address() as AddressInfo).port;
});
afterEach(() => {
  told.length = 0;
  answer = { status: 204 };
});
afterAll(async () => {
  await Promise.all(made.map((each) => each.close()));
  hook.close();
});

/** Sends one to a host of the test's own endpoint, where every name leads. */
async function sendTo(host: string, allowedHosts: string[]): Promise<void> {
  const everything = (...[, , callback]: [unknown, unknown, (error: null, found: object[]) => void]) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const webhooks = createWebhooks(createTargets(allowedHosts, everything as never));
  made.push(webhooks);
  const url = `http://${host}:${port}/told`;
  await webhooks.send({ url, id: 'run_1.1', secret: undefined, type: 'run.waiting', data: {} });
}

test('C19: a webhook whose name resolves to a private address is not sent, and the operator is told what would allow it', async () => {
  const sent = sendTo('hooks.example.com', []);
  await expect(sent).rejects.toThrow(TargetNotAllowedError);
  await expect(sent).rejects.toThrow(/hooks\.example\.com is private .* PAWL_ALLOW_PRIVATE_HOSTS can allow it/);
  await expect(sendTo('127.0.0.1', [])).rejects.toThrow(TargetNotAllowedError);
  expect(told).toEqual([]);
  await sendTo('hooks.example.com', ['hooks.example.com']);
  expect(told).toHaveLength(1);
});

test('C19: a redirect is not followed, wherever it leads', async () => {
  answer = { status: 307, location: `http://127.0.0.1:${port}/other` };
  await expect(sendTo('127.0.0.1', ['127.0.0.1'])).rejects.toThrow(/answered 307/);
  expect(told.map(({ url }) => url)).toEqual(['/told']);
});
