import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { noRules, redactJson, type RedactionRules } from './redact.ts';

const secret = 'sk-test-4f9a8b7c6d5e';

describe('T13: secrets', () => {
  test.each([
    ['a field', `{"api_key":"${secret}"}`],
    ['a field of any value', '{"password":"hunter2","a":1}'.replace('hunter2', secret)],
    ['JSON in a string', JSON.stringify({ data: JSON.stringify({ nested: { 'X-Api-Key': secret } }) })],
    ['JSON in JSON in a string', JSON.stringify(JSON.stringify(JSON.stringify({ token: secret })))],
    ['an object below a field of secrets', `{"credentials":{"user":"u","list":["${secret}"]},"b":"stays"}`],
    ['an address', `{"url":"https://api.example.com/v1?q=1&key=${secret}&x=2"}`],
    [
      'a header in text',
      `{"rawError":"401 for Authorization: Basic ${Buffer.from(`u:${secret}`).toString('base64')}"}`,
    ],
    ['a bearer token', `{"m":"sent Bearer ${secret}"}`],
    ['user information of an address', `{"dsn":"postgres://pawl:${secret}@db:5432/x"}`],
    ['JSON that was cut', JSON.stringify({ data: `{"rows":[{"client_secret":"${secret}","b":` })],
    ['an assignment', `{"log":"export API_KEY=${secret}; run"}`],
  ])('in %s are taken out', (_name, text) => {
    const clean = redactJson(text, noRules);
    expect(clean).not.toContain(secret);
    expect(clean).not.toContain(Buffer.from(`u:${secret}`).toString('base64'));
    expect(clean).toContain('[redacted]');
    expect(() => JSON.parse(clean)).not.toThrow();
    expect(redactJson(clean, noRules)).toBe(clean);
  });

  test('that are not there change nothing, digit for digit', () => {
    for (const text of [
      '{"usage":{"inputTokens":12,"tokens": 9007199254740993},"rate":1.10, "token": null}',
      '{"text":"Basic understanding and bearer of news; the keyboard=fine, secretary: Ann"}',
      `{"hash":"${'a1'.repeat(32)}","at":"2026-03-02T08:00:00.000Z","id":"run_0197c1a2b3c4d5e6f708192a3b4c5d6e"}`,
    ]) {
      expect(redactJson(text, noRules)).toBe(text);
    }
  });

  test('JSON stays JSON, and without secrets stays as it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const clean = redactJson(text, noRules);
        expect(() => JSON.parse(clean)).not.toThrow();
        expect(clean === text || clean.includes('[redacted]')).toBe(true);
      }),
    );
  });

  test('are found although most text is not taken apart', () => {
    const slow: RedactionRules = { ...noRules, replaceAll: [(text) => text] };
    const seeds = [
      secret,
      'Bearer abc.def123',
      'a://u:pw@h',
      '?token=abc',
      'PASSWORD=abcd',
      'pwd: abcd',
      'eyJabcdef.abcdef.',
      'AKIA1234567890ABCDEF',
    ];
    const piece = fc.oneof(fc.constantFrom(...seeds), fc.string({ maxLength: 8 }));
    const string = fc.array(piece, { maxLength: 3 }).map((pieces) => pieces.join(''));
    const name = fc.constantFrom('token', 'X-Api-Key', 'Set-Cookie', 'tokens', 'a', 'credentials');
    const value = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        string,
        fc.integer(),
        tie('node').map((node) => JSON.stringify(node)),
        fc.dictionary(name, tie('node'), { maxKeys: 3 }),
        fc.array(tie('node'), { maxLength: 3 }),
      ),
    })).node;
    fc.assert(
      fc.property(value, fc.constantFrom('/', 's', 'e', '-'), fc.boolean(), (node, letter, isEscaped) => {
        const escape = letter === '/' ? '\\/' : `\\u00${letter.charCodeAt(0).toString(16)}`;
        const plain = JSON.stringify(node);
        // Letters after a backslash are escapes themselves.
        const text = isEscaped && !plain.includes('\\') ? plain.replaceAll(letter, escape) : plain;
        expect(redactJson(text, noRules)).toBe(redactJson(text, slow));
      }),
      { numRuns: 2_000 },
    );
  });

  test('are looked for in time linear in the text', () => {
    // A pattern that backs out of repetitions would take hours and run into the time limit of tests.
    const pieces = ['a@', 'authorization:', 'eyJ', 'Bearer ', '1-', 'key=', '-----BEGIN ', '\\"'];
    for (const text of pieces.map((piece) => piece.repeat(40_000))) {
      const clean = redactJson(JSON.stringify(text), {
        ...noRules,
        personal: ['email', 'phone', 'card', 'iban', 'ip'],
      });
      expect(() => JSON.parse(clean)).not.toThrow();
    }
  });
});

describe('personal data', () => {
  const rules: RedactionRules = {
    fields: new Set(['full_name']),
    personal: ['email', 'phone', 'card', 'cpf', 'iban', 'ip'],
    replaceAll: [],
  };
  test('is taken out where the app wants it, and only then', () => {
    const text = JSON.stringify({
      Full_Name: 'Ana Souza',
      note: 'ana@example.com, CPF 529.982.247-25, card 4111 1111 1111 1111, tel. +55 11 91234-5678, from 10.1.2.3',
      order: '12345678901',
    });
    const clean = redactJson(text, rules);
    for (const value of ['Ana', 'example.com', '529.982', '4111', '91234', '10.1.2.3'])
      expect(clean).not.toContain(value);
    expect(JSON.parse(clean).order).toBe('12345678901');
    expect(redactJson(text, noRules)).toBe(text);
  });

  test('fail closed: a value that can not be checked is taken out, the others stay', () => {
    const broken: RedactionRules = {
      ...noRules,
      replaceAll: [
        (text) => {
          if (text.includes('x')) throw new Error('broken');
          return text;
        },
      ],
    };
    expect(redactJson('{"a":"xyz","b":"fine"}', broken)).toBe('{"a":"[redacted]","b":"fine"}');
  });
});
