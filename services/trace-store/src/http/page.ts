/**
 * The page that shows runs: static files, the same document for every address of it.
 * It holds no data; what it shows comes from the traces API with the key that its reader has.
 */
import fastifyStatic from '@fastify/static';
import { fileURLToPath } from 'node:url';
import type { Http } from '@pawl/service';

const folder = fileURLToPath(new URL('../../web/', import.meta.url));

/** Nothing runs, loads or connects but what this service serves itself. */
const securityHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const;

export async function servePage(http: Http): Promise<void> {
  await http.register(fastifyStatic, {
    root: folder,
    prefix: '/page/',
    cacheControl: false,
    setHeaders: (reply) => void reply.headers({ 'cache-control': 'no-cache', ...securityHeaders }),
  });
  for (const path of ['/', '/runs', '/runs/:runId']) {
    http.get(path, { schema: { hide: true } }, async (_request, reply) => reply.sendFile('index.html'));
  }
}
