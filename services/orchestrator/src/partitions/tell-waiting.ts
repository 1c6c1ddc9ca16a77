/**
 * Webhooks: tells the app's own endpoint that a run has begun to wait for a person. Sent at least once per step that waits,
 * signed after Standard Webhooks (https://www.standardwebhooks.com) where the agent gives a secret, tried again for a while.
 */
import { createHmac } from 'node:crypto';
import type { Definitions } from '@pawl/bus';
import type { RunView } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import type { RunState } from '../run/state.ts';

export type TellWaiting = (state: RunState, view: RunView) => void;

const triesAfterMs = [0, 1_000, 5_000, 30_000];
const timeoutMs = 10_000;
const toldMax = 10_000;

export type WebhookOptions = {
  definitions: Definitions;
  /** The value of `${secret:NAME}` for an app, or undefined. */
  secretOf(app: string, name: string): string | undefined;
  log: Log;
};

export function createTellWaiting(options: WebhookOptions): TellWaiting {
  const told = new Set<string>();
  return (state, view) => {
    const id = `${view.id}.${state.turns.length}`;
    if (told.has(id)) return;
    if (told.size >= toldMax) told.clear();
    told.add(id);
    void send(id, view, { ...options, definition: state.started.definition }).catch((error: unknown) =>
      options.log.warn({ err: error, runId: view.id }, 'the webhook could not be told that the run waits'),
    );
  };
}

async function send(id: string, view: RunView, options: WebhookOptions & { definition: string }): Promise<void> {
  const { agent } = await options.definitions.get(options.definition);
  const webhook = agent.object.spec.webhooks?.waiting;
  if (!webhook) return;
  const name = /^\$\{secret:(\w+)\}$/.exec(webhook.secret ?? '')?.[1];
  const secret = name ? options.secretOf(view.app, name) : webhook.secret;
  const body = JSON.stringify({ type: 'run.waiting', timestamp: new Date().toISOString(), data: view });
  let failure: unknown;
  for (const afterMs of triesAfterMs) {
    await new Promise((resolve) => setTimeout(resolve, afterMs).unref());
    try {
      const response = await fetch(webhook.url, {
        method: 'POST',
        redirect: 'error',
        headers: { 'content-type': 'application/json', ...signatureHeaders(id, body, secret) },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      if (response.ok) return;
      failure = new Error(`the webhook answered ${response.status}`);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** The three headers of Standard Webhooks; the signature covers id, time and body. */
function signatureHeaders(id: string, body: string, secret: string | undefined): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (!secret) return headers;
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret;
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signature}` };
}
