/**
 * The last lines of a log file, for messages about a program that failed.
 */
import { readFileSync } from 'node:fs';

const TAIL_LINES = 15;

/** The last lines, each indented by two spaces; a note when there is nothing. */
export function logTail(file: string): string {
  const text = logText(file);
  if (text.trim() === '') return `  (its log is empty: ${file})`;
  const lines = text.trimEnd().split('\n').slice(-TAIL_LINES);
  return [...lines.map((line) => `  ${line}`), `  (whole log: ${file})`].join('\n');
}

/** All of a log; empty when there is none. */
export function logText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
