/** Structured logs on standard output. Bodies of messages and secrets never go in; ids, codes, counts and durations do. */
import { pino, type Logger } from 'pino';

export type Log = Logger;
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** A logger that writes one JSON line per entry and drops headers and keys. */
export function createLog(name: string, level: (typeof logLevels)[number]): Log {
  return pino({ name, level, redact: { paths: ['req.headers', 'headers', 'authorization'], remove: true } });
}
