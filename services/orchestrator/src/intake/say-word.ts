/** Says a word to a run: keeps it, then writes it into the log; what can't be written now is written later by the watchdog. */
import { publishFact, type Bus } from '@pawl/bus';
import { RejectedError } from '@pawl/contracts';
import { traceOfRun } from '../partitions/trace-of.ts';
import type { Word, WordStore } from './word-store.ts';

export type SayWord = (word: Word, traceId: string) => Promise<{ word: Word; isFirst: boolean }>;

/** Throws `RejectedError` run_ended when the run takes no more words. */
export function createSayWord(using: { bus: Bus; words: WordStore }): SayWord {
  return async (word, traceId) => {
    const kept = await using.words.keep(word);
    if (!kept) throw new RejectedError('run_ended', 'the run has ended');
    await publishFact(using.bus, kept.word, traceOfRun({ traceId, runId: word.runId }));
    return kept;
  };
}
