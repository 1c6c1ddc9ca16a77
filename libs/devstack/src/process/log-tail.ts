/**
 * The last lines of a log file, for messages about a program that failed.
 */
import { readFileSync } from 'node:fs';

const TAIL_LINES = 15;

/** The last lines, each indented by two spaces; a note when there is nothing. */
export function logTail(file: string): string {
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // Reported as an empty log below.
  }
  const lines = text.trimEnd().split('\n').slice(-TAIL_LINES);
  if (lines.join('').trim() === '') return `  (its log is empty: ${file})`;
  return [...lines.map((line) => `  ${line}`), `  (whole log: ${file})`].join('\n');
}
