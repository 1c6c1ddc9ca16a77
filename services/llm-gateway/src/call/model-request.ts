/** What the gateway is asked for, whoever asks: a run's think work or a client of the OpenAI-compatible API. Pure. */
import type { Spender } from '../budget/levels.ts';
import type { CallAddress } from '../budget/store.ts';

export type ModelRequest = {
  /** Where the call is settled, once. */
  address: CallAddress;
  /** Whether a call that is under way at the same address, here or elsewhere, is left alone. Else it is taken over. */
  isExclusive: boolean;
  /** Default `chat`. */
  operation?: 'chat' | 'embeddings';
  /** Whether nobody will ask for the call by its address again, so that nothing has to be looked up for it. */
  isAskedOnce?: boolean;
  /** Whether nobody can have begun the call, so that it may use what was held ahead for it. */
  isFresh?: boolean;
  spender: Spender;
  /** The run that the call is made for, where it is not the run of the address. */
  forRunId?: string | undefined;
  purpose: string;
  /** Name of the ModelRoute. */
  route: string;
  /** Only candidates with this model. */
  model?: string | undefined;
  /** In OpenAI's form, as are the tools. */
  messages: readonly object[];
  tools: readonly object[];
  /** Further fields of a request, in OpenAI's words. */
  options: Readonly<Record<string, unknown>>;
  /** JSON Schema that the reply should fit; left out where an endpoint refuses it. */
  answerSchema?: Record<string, unknown> | undefined;
  /** Replies that are asked for. */
  choices: number;
  /** Tokens of all choices together. */
  outputTokensMax: number;
  /** Fewer output tokens than this are not worth a call, on shared budgets and on limits of runs. */
  outputTokensMin: { budget: number; run: number };
  /** Whether it is the last call of its run, for which others have left room. */
  isClosing?: boolean;
  /** Classes of the data in it. */
  dataClasses: readonly string[];
  deadlineAtMs: number;
  /** Names calls that came without an id. */
  callIdPrefix: string;
};

/** An image costs what its pixels cost, not what its address is long: more than any provider charges for one. */
const tokensPerImage = 50_000;

/** Whether a message holds an image. */
export function imagesIn(messages: readonly object[]): number {
  let images = 0;
  for (const message of messages) {
    const content: unknown = 'content' in message ? message.content : undefined;
    if (!Array.isArray(content)) continue;
    images += content.filter((part: unknown) => isImage(part)).length;
  }
  return images;
}

/** Tokens that the images of messages may cost beyond what their text does. */
export function imageTokensMax(messages: readonly object[]): number {
  return imagesIn(messages) * tokensPerImage;
}

function isImage(part: unknown): boolean {
  return typeof part === 'object' && part !== null && 'type' in part && part.type === 'image_url';
}
