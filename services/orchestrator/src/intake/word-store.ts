/** SQL over `runs.words`: what people said to runs, kept before it is published (I3). */
import type { Database } from '@pawl/db';
import { factSchema, slotOf, type Fact } from '@pawl/contracts';

/** A fact that a person caused. */
export type Word = Extract<Fact, { kind: 'approval' | 'signal' | 'cancel' | 'resumed' }>;

export type WordStore = {
  /**
   * Keeps a word in its slot; `isFirst` says whether this one counts. A `resumed` opens the run again.
   * Undefined when there is no such run or it has ended.
   */
  keep(word: Word): Promise<{ word: Word; isFirst: boolean } | undefined>;
  /** Everything that was said to a run, in order. */
  wordsOf(runId: string): Promise<Word[]>;
};

export function createWordStore(database: Database): WordStore {
  return {
    keep: (word) =>
      database.transaction(async (client) => {
        const open = await client.query<{ status: string }>(
          'select status from runs.runs where id = $1 and app = $2 for update',
          [word.runId, word.app],
        );
        if (!open[0] || open[0].status === 'ended') return undefined;
        const slot = slotOf(word);
        const inserted = await client.query(
          'insert into runs.words (run_id, slot, fact) values ($1, $2, $3) on conflict do nothing returning slot',
          [word.runId, slot, JSON.stringify(word)],
        );
        if (inserted.length > 0) {
          if (word.kind === 'resumed') {
            await client.query(`update runs.runs set status = 'open', view = null where id = $1`, [word.runId]);
          }
          return { word, isFirst: true };
        }
        const kept = await client.query<{ fact: string }>(
          'select fact from runs.words where run_id = $1 and slot = $2',
          [word.runId, slot],
        );
        return { word: parseWord(kept[0]?.fact ?? ''), isFirst: false };
      }),
    async wordsOf(runId) {
      const rows = await database.query<{ fact: string }>(
        'select fact from runs.words where run_id = $1 order by said_at, slot',
        [runId],
      );
      return rows.map((row) => parseWord(row.fact));
    },
  };
}

function parseWord(text: string): Word {
  return factSchema.parse(JSON.parse(text)) as Word;
}
