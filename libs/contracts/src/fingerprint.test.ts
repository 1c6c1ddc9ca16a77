import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, fingerprint, fingerprintJson, sha256 } from './fingerprint.ts';

const expectSame = (a: string, b: string) => expect(fingerprintJson(a)).toBe(fingerprintJson(b));
const expectDifference = (a: string, b: string) => expect(fingerprintJson(a)).not.toBe(fingerprintJson(b));

test('sha256 is that of the UTF-8 bytes', () => {
  expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(sha256('é')).toBe(sha256(Buffer.from([0xc3, 0xa9])));
});

test('canonical JSON is that of RFC 8785', () => {
  const value = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '1': 'One',
    '\u0080': 'Control',
    '😀': 'Emoji',
    numbers: [333_333_333.333_333_3, 1e30, 4.5, 0.002, 1e-27, -0],
  };
  expect(canonicalJson(value)).toBe(
    '{"\\r":"Carriage Return","1":"One","numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],"\u0080":"Control","€":"Euro Sign","😀":"Emoji"}',
  );
});

describe('the fingerprint of JSON text', () => {
  test.each([
    ['key order', '{"a":1,"b":[1,2]}', '{"b":[1,2],"a":1}'],
    ['spacing', '{"a":[1,2]}', ' {\n"a" : [ 1 ,\t2 ] } '],
    ['a fraction of zero', '{"a":1}', '{"a":1.0}'],
    ['an exponent', '[100,1e21]', '[1E+2,1000000000000000000000]'],
    ['the sign of zero', '0', '-0.0'],
    ['escapes', '"a\\u00e9/"', '"aé\\/"'],
    ['the spelling of a number that no double holds', '9007199254740993', '9007199254740993.0'],
    ['the spelling of a number beyond all doubles', '1e400', '10.0E399'],
  ])('is blind to %s', (_, a, b) => {
    expectSame(a, b);
  });

  test.each([
    ['neighbours beyond 2^53', '9007199254740993', '9007199254740992'],
    ['order numbers of nineteen digits', '{"id":2512292042121000001}', '{"id":2512292042121000002}'],
    ['money with many digits', '4503599627370497.51', '4503599627370497.52'],
    ['digits behind those of a double', '0.1', '0.1000000000000000055511151231257827'],
    ['numbers beyond all doubles', '1e400', '1e401'],
    ['numbers below all doubles', '1e-400', '0'],
    ['a number and its text', '9007199254740993', '"9007199254740993"'],
    ['a stand-in and a text that imitates it', '1e400', '"\\u0000number:1e400"'],
    ['a text and one with a mark before it', '"\\u0000a"', '"\\u0000\\u0000a"'],
    ['lone surrogates', '"\\ud800"', '"\\ud801"'],
    ['a lone surrogate and its escape', '"\\ud800"', '"\\\\ud800"'],
    ['the order of a list', '[1,2]', '[2,1]'],
    ['null and nothing', '{"a":null}', '{}'],
    ['a key that is special in JavaScript', '{"__proto__":{"a":1}}', '{}'],
    ['composed and decomposed letters', '"é"', '"e\u0301"'],
  ])('tells apart %s', (_, a, b) => {
    expectDifference(a, b);
  });

  test('is the fingerprint of the value wherever JavaScript holds the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const isHeld = !JSON.stringify(value).includes('\\u');
        fc.pre(isHeld);
        expect(fingerprintJson(JSON.stringify(value, null, space))).toBe(fingerprint(value));
      }),
    );
  });

  test('differs whenever two whole numbers differ', () => {
    const digits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
    fc.assert(
      fc.property(digits, digits, (a, b) => (fingerprintJson(`[${a}]`) === fingerprintJson(`[${b}]`)) === (a === b)),
    );
    fc.assert(fc.property(digits, (a) => fingerprintJson(`${a}`) !== fingerprintJson(`${a + 1n}`)));
  });

  test('has a value for every JSON text, however deep or long', () => {
    const deep = '['.repeat(50_000) + '1e400' + ']'.repeat(50_000);
    expect(fingerprintJson(deep)).toMatch(/^[0-9a-f]{64}$/);
    expect(fingerprintJson(JSON.stringify('\n"\\'.repeat(1_000_000)))).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each(['', '{', '{"a":1,}', '01', 'NaN', '"\n"', '1 2', "{'a':1}"])(
    'is refused with a SyntaxError for %j',
    (text) => {
      expect(() => fingerprintJson(text)).toThrow(SyntaxError);
    },
  );
});
