/**
 * The page that shows runs: static files, the same document for every address of it. It holds no data; what it shows comes
 * from the APIs with the key that its reader has. The files are built by web/build.mjs, which the commands of package.json
 * do by themselves; where that has not been done, the page says so.
 */
import fastifyStatic from '@fastify/static';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageAddresses } from '@pawl/contracts';
import type { Http } from '@pawl/service';
import type { SignIn } from './sign-in.ts';

const builtFolder = fileURLToPath(new URL('../../web/dist/', import.meta.url));

const notBuilt = 'The page has not been built yet: run `npm run build` in the folder of Pawl, then reload.\n';

/** Nothing runs, loads or connects but what this service serves itself; to sign in, the page also asks the issuer. */
function securityHeaders(signIn: SignIn | undefined) {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      ["connect-src 'self'", ...(signIn?.origins() ?? [])].join(' '),
      // Pictures of tools are bytes that the page has fetched with its reader's key.
      "img-src 'self' blob:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}

export type PageOptions = {
  /** Where it was built. */
  folder?: string;
  /** How people sign in; absent: with keys only. */
  signIn?: SignIn | undefined;
};

/** Serves the page at its addresses, and its files under /page/. */
export async function servePage(http: Http, { folder = builtFolder, signIn }: PageOptions = {}): Promise<void> {
  await http.register(fastifyStatic, {
    root: folder,
    prefix: '/page/',
    cacheControl: false,
    preCompressed: true,
    suppressWarning: true,
    setHeaders(reply, path) {
      // Files whose name holds a hash of their content never change.
      const isHashed = path.includes('/assets/');
      reply.headers({
        'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
        ...securityHeaders(signIn),
      });
    },
  });
  http.get('/page/sign-in.json', { schema: { hide: true } }, async (_request, reply) => {
    void reply.header('cache-control', 'no-cache');
    return (await signIn?.describe()) ?? { server: null };
  });
  for (const path of pageAddresses) {
    http.get(path, { schema: { hide: true } }, async (_request, reply) => {
      if (existsSync(join(folder, 'index.html'))) return reply.sendFile('index.html');
      return reply.code(503).headers(securityHeaders(signIn)).type('text/plain; charset=utf-8').send(notBuilt);
    });
  }
}
