import { describe, expect, test } from 'vitest';
import { isCoveredBy, subjectProblem } from './worker-subjects.ts';

describe('subjects of workers', () => {
  test.each([
    'pawl.act.default.demo.x',
    'pawl',
    '$JS.API.INFO',
    '_INBOX.x',
    'tools.*',
    'tools.>',
    'a..b',
    '',
    'a b',
    '.a',
  ])('%j is refused', (subject) => expect(subjectProblem('demo', subject, ['>'])).toEqual(expect.any(String)));

  test('any other subject is taken where the operator sets no pattern', () => {
    expect(subjectProblem('demo', 'tools.weather', ['>'])).toBeUndefined();
  });

  test('a pattern with {app} keeps apps apart', () => {
    const patterns = ['tools.{app}.>', 'open.*'];
    expect(subjectProblem('demo', 'tools.demo.weather', patterns)).toBeUndefined();
    expect(subjectProblem('demo', 'open.weather', patterns)).toBeUndefined();
    expect(subjectProblem('demo', 'tools.other.weather', patterns)).toContain('tools.demo.>');
    expect(subjectProblem('demo', 'open.a.b', patterns)).toEqual(expect.any(String));
  });

  test('a pattern ending in > needs one word more', () => {
    expect(isCoveredBy('tools.demo', 'tools.demo.>')).toBe(false);
    expect(isCoveredBy('tools.demo.a.b', 'tools.demo.>')).toBe(true);
  });
});
