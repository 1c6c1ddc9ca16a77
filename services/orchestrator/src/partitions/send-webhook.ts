/** One message to an app's own endpoint, signed after Standard Webhooks (https://www.standardwebhooks.com) where there is a secret. */
import { createHmac } from 'node:crypto';
import type { Targets } from '@pawl/service/targets';
import { Agent, request } from 'undici';

export type WebhookMessage = {
  url: string;
  /** The same for every try, so that a receiver can tell that it has the message already. */
  id: string;
  secret: string | undefined;
  type: string;
  data: unknown;
};

const timeoutMs = 10_000;

export type SendWebhook = (message: WebhookMessage) => Promise<void>;

export type Webhooks = {
  /** Throws what the connection throws, `TargetNotAllowedError`, and where the endpoint does not take it; a redirect is no taking. */
  send: SendWebhook;
  close(): Promise<void>;
};

export function createWebhooks(targets: Targets): Webhooks {
  const dispatcher = new Agent({ connect: targets.connector() });
  return {
    async send({ url, id, secret, type, data }) {
      const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data });
      const response = await request(url, {
        method: 'POST',
        dispatcher,
        headers: { 'content-type': 'application/json', ...signatureHeaders(id, body, secret) },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      });
      response.body.on('error', () => {}).destroy();
      const status = response.statusCode;
      if (status < 200 || status > 299) throw new Error(`the webhook answered ${status}`);
    },
    close: () => dispatcher.destroy(),
  };
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
