/**
 * What a signal does before a service can stop in order, and to a job at any time. The first process of a container has no default for
 * signals: without a listener they are ignored. So this is the first thing that a program does, before it loads anything, and imports
 * nothing itself.
 */
import process from 'node:process';

const quit = () => process.exit(0);

/** From now on SIGTERM and SIGINT end the process at once: there is nothing yet to put in order. Safe to repeat. */
export function quitOnSignal(): void {
  if (!process.listeners('SIGTERM').includes(quit)) process.on('SIGTERM', quit).on('SIGINT', quit);
}

/** To be called by who listens already: a signal that comes while nobody does is lost, also where it is only handled later. */
export function leaveSignals(): void {
  process.off('SIGTERM', quit).off('SIGINT', quit);
}

/**
 * For jobs: SIGTERM and SIGINT end the process at once, as unfinished: 143 and 130, as shells have it. What a job does is done whole or
 * not at all (a transaction, one object, one stream) and safe to repeat, so there is nothing to put in order.
 */
export function endOnSignal(): void {
  const end = (_name: string, number: number) => process.exit(128 + number);
  process.on('SIGTERM', end).on('SIGINT', end);
}
