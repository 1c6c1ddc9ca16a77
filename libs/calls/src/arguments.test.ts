import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { argumentsDepthMax, parseArguments } from './arguments.ts';
import { compactJson, sliceJson } from './json-slices.ts';

function parsed(text: string) {
  const result = parseArguments(text);
  if ('failure' in result) throw new Error(result.failure.message);
  return result.args;
}

describe('arguments', () => {
  test.each(['2512292042121000001', '9007199254740993', '1.10', '-0', '1e400', '0.1000000000000000055511151231257827'])(
    'the number %s keeps every digit',
    (number) => {
      const args = parsed(`{ "id" : ${number}, "list": [${number}] }`);
      expect(args.text).toBe(`{"id":${number},"list":[${number}]}`);
      expect(args.members.get('id')).toBe(number);
    },
  );

  test('no text stands for no arguments', () => {
    expect(parsed('  ').text).toBe('{}');
  });

  test('a key that comes twice is one key for the check and for the tool', () => {
    const args = parsed('{"a":1,"a":2}');
    expect(args.text).toBe('{"a":2}');
    expect(args.value).toEqual({ a: 2 });
  });

  test('__proto__ is a key like any other', () => {
    const args = parsed('{"__proto__":{"x":1}}');
    expect(Object.hasOwn(args.value, '__proto__')).toBe(true);
    expect(args.text).toBe('{"__proto__":{"x":1}}');
  });

  test.each([
    ['{"a":', 'invalid_arguments_json', /not valid JSON/],
    ['[1]', 'invalid_arguments', /got an array/],
    ['null', 'invalid_arguments', /got null/],
    ['"x"', 'invalid_arguments', /got a string/],
    [`{"a":${'['.repeat(argumentsDepthMax)}${']'.repeat(argumentsDepthMax)}}`, 'invalid_arguments', /nested deeper/],
    ['['.repeat(500_000), 'invalid_arguments', /nested deeper/],
    [`{"a":"${'x'.repeat(1_000_001)}"}`, 'invalid_arguments', /longer than/],
  ])('refuses %.20s', (text, code, message) => {
    const result = parseArguments(text);
    expect(result).toMatchObject({ failure: { code, message: expect.stringMatching(message) } });
  });

  test('the position of a mistake in the JSON is told', () => {
    expect(parseArguments('{"a": 1, b: 2}')).toMatchObject({
      failure: { message: expect.stringMatching(/position 9/) },
    });
  });
});

describe('slices of JSON', () => {
  test('compacting any indented JSON gives what JSON.stringify gives', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(compactJson(JSON.stringify(value, undefined, '\t '))).toBe(JSON.stringify(value));
      }),
    );
  });

  test('the slices of any list and object put together give the whole', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ stringUnit: 'binary' })), (value) => {
        const slices = sliceJson(JSON.stringify(value));
        expect(slices.kind === 'array' && slices.items.map((item) => JSON.parse(item) as unknown)).toEqual(
          JSON.parse(JSON.stringify(value)),
        );
      }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (value) => {
        const slices = sliceJson(JSON.stringify(value));
        const members = slices.kind === 'object' ? slices.members : [];
        expect(members.map(({ name, value: text }) => `${JSON.stringify(name)}:${text}`).join(',')).toBe(
          JSON.stringify(value).slice(1, -1),
        );
      }),
    );
  });
});
