/**
 * What a model of the stand-in says in one turn, before it is put into OpenAI's form.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest } from '../conversation/chat-request.ts';
import type { Conversation } from '../conversation/conversation.ts';

/** One tool call. `args` as text is sent as it is (also when it is no valid JSON); absent means `{}`. */
export interface SimCall {
  tool: string;
  args?: unknown;
}

/** An HTTP error instead of a reply. */
export interface SimFailure {
  status: number;
  code?: string;
  message?: string;
  headers?: Record<string, string>;
}

/** One reply: calls with the thought that explains them, or an answer. */
export interface SimReply {
  /** The thought's text; the reply's content when there is no answer. */
  say?: string;
  calls?: SimCall[];
  answer?: string;
  /** Answer with this HTTP error instead. */
  fail?: SimFailure;
  /** In a stream: break the connection after this many chunks; a unary reply is then broken before it starts. */
  breakAfterChunks?: number;
  /** In a stream, after this many chunks: say nothing more, send what is no JSON, send an error, or end quietly. */
  fault?: { afterChunks: number; kind: 'stall' | 'garbage' | 'error' | 'end' };
  /** Whether the client is not told the usage. */
  isUsageHidden?: boolean;
}

/** The request as it came, for tests that look at more than the conversation. `signal` aborts when the client leaves. */
export interface SimSource {
  body: ChatRequest;
  headers: IncomingHttpHeaders;
  signal: AbortSignal;
}

/** What decides: pure where a script gives it, free where a test gives it. May reject with SimRuleError. */
export type Respond = (conversation: Conversation, source: SimSource) => SimReply | Promise<SimReply>;

/** A model of the stand-in. Delays in milliseconds, default 0. */
export interface SimModel {
  /** Before anything is sent, unary and stream. */
  delayMs?: number;
  /** In a stream, after the head and before the first content or call. */
  firstTokenDelayMs?: number;
  /** In a stream, before each later piece. */
  tokenDelayMs?: number;
  respond: Respond;
}

/** A script that can't answer. `code` reaches the client; it is a 400, so clients do not repeat the request. */
export class SimRuleError extends Error {
  override readonly name = 'SimRuleError';
  readonly code: 'sim_no_rule' | 'sim_rule_failed';

  constructor(code: 'sim_no_rule' | 'sim_rule_failed', message: string) {
    super(message);
    this.code = code;
  }
}
