/** Compresses answers that are text and large. The record of a long run shrinks to a tenth; small answers are left alone. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Http } from '@pawl/service';

const bytesMin = 4_096;
const compress = promisify(gzip);

/** For all routes that are added afterwards. */
export function compressJson(http: Http): void {
  http.addHook('onSend', async (request, reply, payload) => {
    const isLarge = typeof payload === 'string' && payload.length >= bytesMin;
    if (!isLarge || reply.hasHeader('content-encoding')) return payload;
    void reply.header('vary', 'accept-encoding');
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return payload;
    void reply.header('content-encoding', 'gzip').removeHeader('content-length');
    return compress(payload, { level: 5 });
  });
}
