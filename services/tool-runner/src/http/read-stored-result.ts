/**
 * `GET /v1/tools/results/{runId}/{m}/{i}` and `…/{part}`: what an observation refers to, a long result or a picture, to the app whose run it
 * is. The bytes are anybody's, so a browser must neither guess what they are nor run them: only pictures without active content are shown
 * in place, everything else is a download.
 */
import { Readable } from 'node:stream';
import { z } from 'zod';
import { RejectedError } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import type { ResultStore } from '../results/result-store.ts';

export type StoredResultOptions = { authorizer: Authorizer; results: ResultStore };

const number = z.string().regex(/^\d{1,6}$/);
const place = { runId: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/), m: number, i: number };
const params = z.object({
  ...place,
  part: z
    .string()
    .regex(/^(?:text|media-\d{1,4})$/)
    .optional(),
});

/** Raster pictures: there is nothing in them that a browser would run. */
const shownTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/bmp']);

const headers = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, max-age=3600',
};

export function serveStoredResults(http: Http, { authorizer, results }: StoredResultOptions): void {
  const onRequest = guardApp(authorizer, 'traces');
  for (const path of ['/v1/tools/results/:runId/:m/:i', '/v1/tools/results/:runId/:m/:i/:part']) {
    http.get(path, { onRequest, schema: { params } }, async (request, reply) => {
      const { app } = authorizer.authorizeApp(request, 'traces');
      const { runId, m, i, part } = params.parse(request.params);
      const ref = [app, runId, m, i, ...(part === undefined ? [] : [part])].join('/');
      const stored = await results.open(ref);
      if (!stored) throw new RejectedError('not_found', 'there is no such result');
      const { type, disposition } = presentation(stored.contentType, `${runId}-${m}-${i}`);
      return await reply
        .headers({ ...headers, 'content-disposition': disposition, 'content-length': stored.bytes })
        .type(type)
        .send(Readable.from(stored.chunks));
    });
  }
}

function presentation(contentType: string | undefined, name: string): { type: string; disposition: string } {
  const attachment = (ending: string) => `attachment; filename="${name}${ending}"`;
  if (contentType === undefined) return { type: 'text/plain; charset=utf-8', disposition: attachment('.txt') };
  if (shownTypes.has(contentType)) return { type: contentType, disposition: 'inline' };
  return { type: 'application/octet-stream', disposition: attachment('') };
}
