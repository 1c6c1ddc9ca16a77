import { expect, test } from 'vitest';
import { parseCommandLine } from './command-line.ts';

test('the defaults', () => {
  expect(parseCommandLine('demo', [])).toEqual({ port: 7300, example: 'sales-analyst', once: false });
});

test('all arguments', () => {
  const args = ['--once', '--port', '7400', '--example', 'other'];
  expect(parseCommandLine('demo', args)).toEqual({ port: 7400, example: 'other', once: true });
});

test.each([
  [['--port', 'x'], '--port needs a number from 1 to 65535, not x.'],
  [['--port', '70000'], 'not 70000'],
  [['--ports', '1'], 'Usage: npm run dev -- [--port N] [--example NAME]'],
  [['--once'], "Unknown option '--once'"],
])('dev refuses %j', (args, message) => expect(() => parseCommandLine('dev', args)).toThrow(message));
