/** The OpenAI-compatible API: its own form of errors, its own limit of bodies. */
import type { FastifyBaseLogger } from 'fastify';
import type { Http, Log } from '@pawl/service';
import { serveChatCompletions, type OpenAiDeps } from './chat-completions.ts';
import { serveEmbeddings } from './embeddings.ts';
import { serveModels } from './models.ts';
import { createOpenAiErrorHandler } from './openai-errors.ts';
import { serveResponses } from './responses.ts';

/** Conversations with images are long. */
export const bodyLimitBytes = 32 * 2 ** 20;

export async function serveOpenAi(http: Http, deps: OpenAiDeps & { log: Log & FastifyBaseLogger }): Promise<void> {
  await http.register(async (scope: Http) => {
    scope.setErrorHandler(createOpenAiErrorHandler(deps.log, bodyLimitBytes));
    scope.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyLimitBytes;
    });
    serveChatCompletions(scope, deps);
    serveEmbeddings(scope, deps);
    serveResponses(scope, deps);
    serveModels(scope, deps);
  });
}
