/**
 * What models said does not stay in the gateway: replies are kept so that a thought that got lost, or an answer that is asked
 * for again, costs nothing; after their time their text is taken away, and so are cached answers that have expired.
 * What is left of a reply says that its call was settled. Every replica does it, in small steps.
 */
import type { Queryable } from '@pawl/db';
import { UnavailableError } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';

/** Rows of one step: short locks, whatever has come together. */
const stepMax = 500;

/** What is stored of a reply whose time is over. */
const forgotten = '';

/** Whether the text of a stored reply has been taken away. */
export function isForgotten(stored: string): boolean {
  return stored === forgotten;
}

export type ForgettingOptions = {
  database: Queryable;
  log: Log;
  keptDays: number;
  /** How often it looks. */
  everyMs: number;
};

export function createForgetting({ database, log, keptDays, everyMs }: ForgettingOptions): Part {
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  const round = async () => {
    try {
      await inSteps(() => forgetReplies(database, keptDays));
      await inSteps(() => forgetAnswers(database));
    } catch (error) {
      if (!(error instanceof UnavailableError)) log.error({ err: error }, 'old replies could not be forgotten');
    }
  };
  const inSteps = async (step: () => Promise<number>) => {
    while (timer && (await step()) === stepMax);
  };
  const schedule = () => {
    timer = setTimeout(() => {
      underWay = round().finally(() => {
        if (timer) schedule();
      });
    }, everyMs);
  };
  return {
    name: 'forgetting',
    start: async () => schedule(),
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      await underWay;
    },
  };
}

async function forgetReplies(database: Queryable, keptDays: number): Promise<number> {
  const rows = await database.query(
    `with old as (
       select run_id, m from gateway.replies
         where thought <> '' and at < now() - $1 * interval '1 day'
         order by at limit $2 for update skip locked
     )
     update gateway.replies r set thought = '' from old where r.run_id = old.run_id and r.m = old.m returning r.m`,
    [keptDays, stepMax],
  );
  return rows.length;
}

async function forgetAnswers(database: Queryable): Promise<number> {
  const rows = await database.query(
    `with old as (
       select key from gateway.cached_answers where expires_at < now() order by expires_at limit $1 for update skip locked
     )
     delete from gateway.cached_answers a using old where a.key = old.key and a.expires_at < now() returning a.key`,
    [stepMax],
  );
  return rows.length;
}
