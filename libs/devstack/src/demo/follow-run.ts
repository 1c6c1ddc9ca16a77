/**
 * Follows one run over its events and prints each fact as a card, until it ends, pauses or waits for people.
 */
import type { PawlClient } from '@pawl/client';
import type { RunView } from '@pawl/contracts';
import type { Terminal } from '../commands/terminal.ts';
import { DevstackError } from '../devstack-error.ts';
import { renderCard, renderSummary } from './cards.ts';

/** A run has limits of its own (120 s by default); this is only against a stack that is broken. */
const RUN_WITHIN_MS = 10 * 60_000;

export interface FollowOptions {
  client: PawlClient;
  run: RunView;
  question: string;
  terminal: Terminal;
  interrupted: AbortSignal;
  /** Whether everything ends with the run. Default false. */
  isLast?: boolean;
}

/**
 * The stop reason of the run; undefined when the user interrupted.
 * @throws DevstackError when the run does not come to rest in time, PawlError when Pawl does not answer for a minute.
 */
export async function followRun(options: FollowOptions): Promise<string | undefined> {
  const { client, run, terminal, interrupted } = options;
  terminal.print(`\n${terminal.colors.bold(options.question)}\n`);
  const late = AbortSignal.timeout(RUN_WITHIN_MS);
  try {
    const durationMs = await printCards(options, AbortSignal.any([interrupted, late]));
    const view = await client.getRun(run.id);
    terminal.print(renderSummary(view, { durationMs, isLast: options.isLast ?? false }, terminal));
    return view.stopReason ?? view.status;
  } catch (error) {
    if (interrupted.aborted) return undefined;
    if (!late.aborted) throw error;
    throw new DevstackError(
      `Run ${run.id} did not end within ${RUN_WITHIN_MS / 60_000} minutes. The logs are in .pawl/logs.`,
    );
  } finally {
    terminal.progressDone();
  }
}

/** How long the run took; undefined when it has not ended. */
async function printCards({ client, run, terminal }: FollowOptions, signal: AbortSignal): Promise<number | undefined> {
  terminal.progress(`Run ${run.id}: waiting for the model`);
  for await (const event of client.events(run.id, { untilRest: true, signal })) {
    if (event.kind !== 'fact') continue;
    const card = renderCard(event.fact, terminal);
    if (card) terminal.print(card);
    if (event.fact.kind === 'ended') return event.fact.durationMs;
  }
  return undefined;
}
