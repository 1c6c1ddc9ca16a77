/**
 * What stands between an MCP server and the client library, whatever the transport: a message that is too large or that answers
 * another request than the one it came for is replaced by an error of our own, and numbers are marked so that none is rounded.
 * Pure.
 */
import { createExactNumbers } from '../../arguments/exact-numbers.ts';

/** Codes of errors that we put in the place of a reply. Servers have no use for this range. */
export const guardCodes = { tooLarge: -39_001, otherRequest: -39_002 } as const;

/** Codes of JSON-RPC. */
export const rpcCodes = { invalidRequest: -32_600, methodNotFound: -32_601, invalidParams: -32_602 } as const;

/** Marks of this process: what the client library hands on is printed with them. */
export const exactNumbers = createExactNumbers();

export type MessageId = number | string;

/** The text of a message as the library may read it. `expectedId` is the request that the stream belongs to. */
export function guardedMessage(text: string, expectedId: MessageId | undefined): string {
  if (expectedId !== undefined && isReplyToOther(text, expectedId)) {
    return errorReply(expectedId, guardCodes.otherRequest, 'a reply to another request came in the place of this one');
  }
  return exactNumbers.mark(text);
}

/** A reply that says that the real one was too large. */
export function tooLargeReply(id: MessageId, bytesMax: number): string {
  return errorReply(id, guardCodes.tooLarge, `a message with more than ${bytesMax} bytes`);
}

export function errorReply(id: MessageId, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}

/** Requests and notifications of the server, which have a method, may come on any stream. */
function isReplyToOther(text: string, expectedId: MessageId): boolean {
  const parsed = parse(text);
  if (typeof parsed !== 'object' || parsed === null) return false;
  if (Array.isArray(parsed)) return parsed.some((message) => isReplyToOther(JSON.stringify(message), expectedId));
  return !('method' in parsed) && (!('id' in parsed) || parsed.id !== expectedId);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The id and method of a request that is sent. */
export function requestOf(body: unknown): { id: MessageId; method: string } | undefined {
  const parsed = typeof body === 'string' ? parse(body) : undefined;
  if (typeof parsed !== 'object' || parsed === null || !('id' in parsed) || !('method' in parsed)) return undefined;
  const { id, method } = parsed;
  const isId = typeof id === 'number' || typeof id === 'string';
  return isId && typeof method === 'string' ? { id, method } : undefined;
}
