import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, it } from 'vitest';
import { inputTokensMax } from './input-bound.ts';

it('is at least what a tokenizer counts, for any text', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.string({ unit: 'grapheme', maxLength: 200 }));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 5 }), (texts) => {
      const messages = texts.map((content) => ({ role: 'user', content }));
      const counted = texts.reduce((sum, content) => sum + countTokens(content, { disallowedSpecial: new Set() }), 0);
      expect(inputTokensMax({ messages, tools: [] })).toBeGreaterThanOrEqual(counted);
    }),
  );
});

it('makes room for what providers put around tools', () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const tools = [{ name: 'a', description: 'b', parameters: {} }];
  const bytesOfTools = JSON.stringify(tools).length;
  expect(inputTokensMax({ messages, tools }) - inputTokensMax({ messages, tools: [] })).toBeGreaterThan(
    bytesOfTools + 500,
  );
});
