/** The OpenAI-compatible API: its own form of errors, its own limit of bodies. */
import { pipeline } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import { createBodyGate, createCounter, type Http, type Log } from '@pawl/service';
import { serveChatCompletions, type OpenAiDeps } from './chat-completions.ts';
import { serveEmbeddings } from './embeddings.ts';
import type { KeptItems } from './kept-items.ts';
import { serveModels } from './models.ts';
import { createOpenAiErrorHandler } from './openai-errors.ts';
import { serveResponses } from './responses.ts';

/** Conversations with images are long. */
export const bodyLimitBytes = 32 * 2 ** 20;

/** Of large bodies under way together. A parsed body takes several times its bytes. */
const largeBodies = { bytesMax: 128 * 2 ** 20, smallBytes: 2 ** 20 };

type ServeDeps = OpenAiDeps & { items: KeptItems; log: Log & FastifyBaseLogger };

export async function serveOpenAi(http: Http, deps: ServeDeps): Promise<void> {
  await http.register(async (scope: Http) => {
    scope.setErrorHandler(createOpenAiErrorHandler(deps.log, bodyLimitBytes));
    scope.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyLimitBytes;
    });
    const gate = createBodyGate(largeBodies);
    scope.addHook('preParsing', async (request, reply, payload) => {
      const visit = gate.open();
      reply.raw.once('close', visit.leave);
      const length = request.headers['content-length'];
      if (length === undefined) return pipeline(payload, createCounter(visit), () => undefined);
      visit.grow(Number(length));
      return payload;
    });
    serveChatCompletions(scope, deps);
    serveEmbeddings(scope, deps);
    serveResponses(scope, deps);
    serveModels(scope, deps);
  });
}
