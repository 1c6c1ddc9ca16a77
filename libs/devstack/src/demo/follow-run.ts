/**
 * Follows one run over its event stream and prints each fact as a card, until the run ends or pauses.
 */
import { factSchema } from '@pawl/contracts';
import type { Fact, RunView } from '@pawl/contracts';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Terminal } from '../commands/terminal.ts';
import { DevstackError } from '../devstack-error.ts';
import type { PawlApi } from '../example/pawl-api.ts';
import { poll } from '../process/poll.ts';
import { renderCard, renderSummary } from './cards.ts';

/** A run has limits of its own (120 s by default); this is only against a stack that is broken. */
const RUN_WITHIN_MS = 10 * 60_000;
const RECONNECT_EVERY_MS = 500;

export interface FollowOptions {
  api: PawlApi;
  run: RunView;
  question: string;
  terminal: Terminal;
  interrupted: AbortSignal;
}

/**
 * The stop reason of the run; undefined when the user interrupted.
 * @throws DevstackError when the run does not end in time.
 */
export async function followRun(options: FollowOptions): Promise<string | undefined> {
  const { api, run, terminal, interrupted } = options;
  terminal.print(`\n${terminal.colors.bold(options.question)}\n`);
  let lastEventId: string | undefined;
  const readOn = async (): Promise<Fact | undefined> => {
    if (interrupted.aborted) return undefined;
    terminal.progress(`Run ${run.id}`);
    for await (const { id, fact } of readFacts(api, { runId: run.id, lastEventId, signal: interrupted })) {
      lastEventId = id ?? lastEventId;
      const card = renderCard(fact, terminal);
      if (card) terminal.print(card);
      if (fact.kind === 'ended' || fact.kind === 'paused') return fact;
    }
    return undefined;
  };
  const last = await poll(async () => (interrupted.aborted ? 'interrupted' : readOn()), {
    deadlineMs: RUN_WITHIN_MS,
    intervalMs: RECONNECT_EVERY_MS,
  });
  terminal.progressDone();
  if (last === 'interrupted') return undefined;
  if (last?.kind !== 'ended' && last?.kind !== 'paused') {
    throw new DevstackError(
      `Run ${run.id} did not end within ${RUN_WITHIN_MS / 60_000} minutes. The logs are in .pawl/logs.`,
    );
  }
  terminal.print(renderSummary(await api.getRun(run.id), last, terminal));
  return last.stopReason;
}

interface ReadOptions {
  runId: string;
  lastEventId: string | undefined;
  signal: AbortSignal;
}

/** Ends without an error when the stream breaks; the caller opens it again. */
async function* readFacts(api: PawlApi, options: ReadOptions): AsyncGenerator<{ id: string | undefined; fact: Fact }> {
  try {
    const response = await api.openEvents(options.runId, options.lastEventId, options.signal);
    if (!response.ok || !response.body) return;
    const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const event of events) {
      const parsed = factSchema.safeParse(parseJson(event.data));
      if (parsed.success) yield { id: event.id, fact: parsed.data };
    }
  } catch {
    // The connection broke or the user interrupted.
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
