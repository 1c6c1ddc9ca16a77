import { createArgumentValidator } from '@pawl/calls';
import { describe, expect, test } from 'vitest';
import { answerElicitation } from './elicitation.ts';

const validator = createArgumentValidator();
const ask = async (properties: object, answer: string | undefined, more: object = {}) => {
  const questions: string[] = [];
  const requestedSchema = { type: 'object', properties, required: Object.keys(properties), ...more };
  const answerTo = (question: string) => Promise.resolve(question === 'Go on?' ? answer : undefined);
  const given = await answerElicitation({ message: 'Go on?', requestedSchema }, { answerTo, validator, questions });
  return { ...given, questions };
};

describe('what a server asks a person', () => {
  test.each<[string, object, { answer: string; content: unknown }]>([
    ['yes', { go: { type: 'boolean' } }, { answer: '"Yes."', content: { go: true } }],
    ['no', { go: { type: 'boolean' } }, { answer: '"não"', content: { go: false } }],
    ['a name', { name: { type: 'string' } }, { answer: '"Ada"', content: { name: 'Ada' } }],
    ['digits as a text', { code: { type: 'string' } }, { answer: '"0042"', content: { code: '0042' } }],
    ['a number', { n: { type: 'integer' } }, { answer: '"42"', content: { n: 42 } }],
    [
      'a form as JSON',
      { a: { type: 'string' }, b: { type: 'number' } },
      { answer: '{"a":"x","b":2}', content: { a: 'x', b: 2 } },
    ],
    [
      'a form as the text of JSON',
      { a: { type: 'string' }, b: {} },
      { answer: '"{\\"a\\":\\"x\\",\\"b\\":2}"', content: { a: 'x', b: 2 } },
    ],
  ])('%s is the content', async (_name, properties, { answer, content }) => {
    expect(await ask(properties, answer)).toEqual({ action: 'accept', content, questions: [] });
  });

  test('without an answer the call is told so, and the run learns what to ask', async () => {
    expect(await ask({ a: {}, b: {} }, undefined)).toEqual({
      action: 'cancel',
      questions: ['"Go on?". The answer has to be JSON with a, b.'],
    });
  });

  test('an answer that does not fit is not given, and why is told', async () => {
    const { action, questions } = await ask({ n: { type: 'integer' } }, '"many"');
    expect(action).toBe('cancel');
    expect(questions[0]).toMatch(/doesn't fit: \/n/);
    expect((await ask({ a: {}, b: {} }, '"just words"')).action).toBe('cancel');
  });
});
