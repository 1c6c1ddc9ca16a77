/** Pure functions whose time grows with the size of a result, by the names under which another thread runs them. */
import { observationOf } from '../call/observation-of.ts';
import { outcomeOfAnswer } from '../kinds/http/http-answer.ts';
import { outcomeOfReply } from '../kinds/nats/worker-reply.ts';

export const heavyFunctions = { observationOf, outcomeOfAnswer, outcomeOfReply } as const;

export type HeavyName = keyof typeof heavyFunctions;
export type HeavyArguments<N extends HeavyName> = Parameters<(typeof heavyFunctions)[N]>;
export type HeavyResult<N extends HeavyName> = ReturnType<(typeof heavyFunctions)[N]>;
