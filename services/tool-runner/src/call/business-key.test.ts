import { describe, expect, test } from 'vitest';
import { businessKeyOf, businessKeyProblem } from './business-key.ts';

const keyOf = (expression: string, args: string, app = 'demo') =>
  businessKeyOf({ app, tool: 'refund', expression }, args);

describe('business keys', () => {
  test('the same business is the same key, whatever else the arguments say', () => {
    const first = keyOf('args.order_id', '{"order_id":"A7","reason":"broken"}');
    expect(first).toEqual({ key: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(keyOf('args.order_id', '{"reason":"it came broken","order_id":"A7"}')).toEqual(first);
    expect(keyOf('args.order_id', '{"order_id":"A8"}')).not.toEqual(first);
    expect(keyOf('args.order_id', '{"order_id":"A7"}', 'other')).not.toEqual(first);
  });

  test('C5: numbers that a double takes for one are two keys', () => {
    expect(keyOf('args.id', '{"id":9007199254740993}')).not.toEqual(keyOf('args.id', '{"id":9007199254740992}'));
  });

  test('several parts make one key', () => {
    expect(keyOf('[args.a, args.b]', '{"a":"1","b":"23"}')).not.toEqual(
      keyOf('[args.a, args.b]', '{"a":"12","b":"3"}'),
    );
  });

  test.each([
    ['args.order_id', '{}'],
    ['args.order_id', '{"order_id":null}'],
    ['args.order_id', '{"order_id":""}'],
    ['args', '{"a":1}'],
  ])('%s of %s is no key', (expression, args) => {
    expect(keyOf(expression, args)).toEqual({ problem: expect.stringMatching(/\w+/) });
  });

  test('what is no CEL has a sentence', () => {
    expect(businessKeyProblem('args.')).toEqual(expect.any(String));
    expect(businessKeyProblem('args.order_id')).toBeUndefined();
  });
});
