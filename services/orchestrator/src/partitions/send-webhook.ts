/** One message to an app's own endpoint, signed after Standard Webhooks (https://www.standardwebhooks.com) where there is a secret. */
import { createHmac } from 'node:crypto';

export type WebhookMessage = {
  url: string;
  /** The same for every try, so that a receiver can tell that it has the message already. */
  id: string;
  secret: string | undefined;
  type: string;
  data: unknown;
};

const timeoutMs = 10_000;

/** Throws what the network throws, and where the endpoint does not take it. */
export async function sendWebhook({ url, id, secret, type, data }: WebhookMessage): Promise<void> {
  const body = JSON.stringify({ type, timestamp: new Date().toISOString(), data });
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    headers: { 'content-type': 'application/json', ...signatureHeaders(id, body, secret) },
    body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the webhook answered ${response.status}`);
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
