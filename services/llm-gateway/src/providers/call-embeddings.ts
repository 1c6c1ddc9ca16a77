/** One embeddings call over the `openai` package. Like `callModel`, it says how the call ended and what is known of its usage. */
import type OpenAI from 'openai';
import { callUnderClock, type ModelCall, type ModelCallResult } from './call-model.ts';
import type { Endpoints } from './endpoints.ts';
import { failureOfRequest } from './failure.ts';
import { parseUsage } from './usage-mapping.ts';

/** Makes the call and never throws for what the endpoint does. `call.options` holds the input. */
export async function callEmbeddings(endpoints: Endpoints, call: ModelCall): Promise<ModelCallResult> {
  const nothing = {
    choices: [{ text: '', refusal: '', calls: [] }],
    reasoningText: '',
  } satisfies ModelCallResult['reply'];
  return await callUnderClock(call, async ({ signal, finish }) => {
    try {
      const { candidate, apiKey, timeouts } = call;
      const client = endpoints.client({ baseUrl: candidate.baseUrl, apiKey, connectMs: timeouts.connectMs });
      const body = { ...call.options, model: candidate.model } as unknown as OpenAI.EmbeddingCreateParams;
      const { data, usage } = await client.embeddings.create(body, { signal });
      const measured = parseUsage({ ...usage, completion_tokens: 0 });
      if (!Array.isArray(data)) {
        const message = 'the model endpoint sent no embeddings';
        return finish({ kind: 'broken', code: 'model_bad_reply', message }, nothing);
      }
      const reply = measured ? { ...nothing, usage: measured } : nothing;
      return { ...finish({ kind: 'reply' }, reply), body: data };
    } catch (error) {
      return finish(failureOfRequest(error, call.apiKey), nothing);
    }
  });
}
