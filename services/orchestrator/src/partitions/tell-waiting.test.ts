import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLog } from '@pawl/service';
import { createTargets } from '@pawl/service/targets';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decide } from '../run/decide.ts';
import { evolve, type RunState } from '../run/state.ts';
import { call, definitionWith, started, startMs, stateOf, thought } from '../run/story.suite.ts';
import { createWebhooks } from './send-webhook.ts';
import { createTellWaiting } from './tell-waiting.ts';

const told: string[] = [];
const hook = createServer((request, response) => {
  told.push(String(request.headers['webhook-signature']));
  response.writeHead(204).end();
});
beforeAll(() => new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve)));
afterAll(() => void hook.close());

const webhooks = createWebhooks(createTargets(['127.0.0.1']));
afterAll(() => webhooks.close());

function waitingWith(secret: string) {
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/told`;
  const definition = definitionWith([{ name: 'search' }], {
    approvals: [{ tool: 'search' }],
    webhooks: { waiting: { url, secret } },
  });
  const asked = stateOf(started(), thought(0, { calls: [call('search', { q: 1 })] }));
  const state = decide(asked, definition, startMs + 500).reduce<RunState>(
    (so, action) => (action.type === 'write' ? (evolve(so, action.fact) ?? so) : so),
    asked,
  );
  return { definition, state };
}

/** What comes first of telling it: that it was told, or why not. */
async function tellOnce(secret: string): Promise<string> {
  const { definition, state } = waitingWith(secret);
  const first = Promise.withResolvers<string>();
  const log = createLog('orchestrator', 'silent');
  log.warn = (about: { err: Error }) => first.resolve(about.err.message);
  const tellWaiting = createTellWaiting({
    definitions: { get: () => Promise.resolve(definition), put: () => Promise.reject(new Error('unused')) },
    store: {
      toldWaiting: () => Promise.resolve(undefined),
      noteToldWaiting: (_id, wait) => Promise.resolve(first.resolve(wait)),
    },
    secretOf: (_app, name) => ({ HOOK: 'a secret', EMPTY: '' })[name],
    sendWebhook: webhooks.send,
    stateOf: () => state,
    log,
  });
  tellWaiting(state);
  return await first.promise;
}

test('a webhook is signed, and never told unsigned because its secret is not there', async () => {
  expect(await tellOnce('${secret:NONE}')).toMatch(/NONE/);
  expect(await tellOnce('${secret:EMPTY}')).toMatch(/EMPTY/);
  expect(told).toEqual([]);
  expect(await tellOnce('${secret:HOOK}')).toMatch(/^run_/);
  expect(told).toEqual([expect.stringMatching(/^v1,/)]);
});
