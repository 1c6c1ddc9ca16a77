/** Pictures, sounds and files in a result of an MCP server go where results are kept; in their place stands what they are, and where. */
import type { Spool } from '../../results/result-store.ts';
import type { McpResult } from './tool-result.ts';

const mediaMax = 100;
const typePattern = /^[a-z]+\/[a-z0-9.+-]{1,100}$/;

/** The result without its bytes. What can't be stored stays as it is. */
export async function storeMedia(result: McpResult, spool: Spool | undefined): Promise<McpResult> {
  if (!spool || !Array.isArray(result.content)) return result;
  const content: unknown[] = [];
  let number = 0;
  for (const block of result.content as unknown[]) {
    const found = number < mediaMax ? mediaIn(block) : undefined;
    content.push(found ? await stored(found, { spool, number }) : block);
    if (found) number += 1;
  }
  return { ...result, content };
}

type Media = { base64: string; mimeType: string; replaced(told: object): unknown };

function mediaIn(block: unknown): Media | undefined {
  if (!isObject(block)) return undefined;
  const { data, resource } = block;
  if (typeof data === 'string' && (block['type'] === 'image' || block['type'] === 'audio')) {
    const replaced = (told: object) => ({ ...without(block, 'data'), ...told });
    return { base64: data, mimeType: typeOf(block['mimeType']), replaced };
  }
  if (!isObject(resource) || typeof resource['blob'] !== 'string') return undefined;
  const replaced = (told: object) => ({ ...block, resource: { ...without(resource, 'blob'), ...told } });
  return { base64: resource['blob'], mimeType: typeOf(resource['mimeType']), replaced };
}

async function stored(media: Media, { spool, number }: { spool: Spool; number: number }): Promise<unknown> {
  const bytes = Buffer.from(media.base64, 'base64');
  async function* all(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  const ref = await spool.put({ format: 'media', contentType: media.mimeType, number }, all());
  return media.replaced({ bytes: bytes.length, ref });
}

function without(object: Record<string, unknown>, name: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== name));
}

function typeOf(declared: unknown): string {
  const type = typeof declared === 'string' ? declared.toLowerCase().split(';')[0]?.trim() : undefined;
  return type !== undefined && typePattern.test(type) ? type : 'application/octet-stream';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
