/** Random ids as hex digits. Bytes are drawn from the system for many ids at once: that is dear, and every call needs several. */
import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4_096);
let used = pool.length;

/** As many random bytes, at most 4,096, as hex digits. */
export function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}
