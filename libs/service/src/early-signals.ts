/**
 * What a signal does before a service can stop in order. The first process of a container has no default for signals: without a
 * listener they are ignored. So this is the first thing that a service does, before it loads anything, and imports nothing itself.
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
