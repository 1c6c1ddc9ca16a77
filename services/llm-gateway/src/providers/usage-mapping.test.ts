import { expect, it } from 'vitest';
import { parseUsage } from './usage-mapping.ts';

it('keeps parts as parts of their totals', () => {
  const usage = parseUsage({
    prompt_tokens: 13_675,
    completion_tokens: 1_970,
    total_tokens: 15_645,
    prompt_tokens_details: { cached_tokens: 9_216 },
    completion_tokens_details: { reasoning_tokens: 956 },
  });
  expect(usage).toEqual({
    inputTokens: 13_675,
    cachedInputTokens: 9_216,
    cacheWriteTokens: 0,
    outputTokens: 1_970,
    reasoningTokens: 956,
  });
});

it('adds reasoning that the provider counts apart, as its total tells', () => {
  const apart = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 22,
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  expect(parseUsage(apart)).toMatchObject({ outputTokens: 12, reasoningTokens: 7 });
});

it('reads the words of other providers, and cuts parts beyond their totals', () => {
  expect(parseUsage({ prompt_tokens: 10, completion_tokens: 0, prompt_cache_hit_tokens: 4 })).toMatchObject({
    cachedInputTokens: 4,
  });
  expect(
    parseUsage({ prompt_tokens: 10, completion_tokens: 1, cache_read_input_tokens: 8, cache_creation_input_tokens: 8 }),
  ).toMatchObject({ cachedInputTokens: 8, cacheWriteTokens: 2 });
});

it.each([
  null,
  undefined,
  {},
  'x',
  { prompt_tokens: -1, completion_tokens: 1 },
  { prompt_tokens: 1.5, completion_tokens: 1 },
])('takes %j for no usage', (body) => expect(parseUsage(body)).toBeUndefined());
