/**
 * When a user is erased, what models said for that user leaves the gateway at once: replies of the user's runs and calls, and
 * answers in the cache. As after its time, what is left of a reply says that its call was settled, and the books stay.
 */
import { serveForgetting, type Bus } from '@pawl/bus';
import type { Forgetting } from '@pawl/contracts';
import type { Queryable } from '@pawl/db';
import type { Log, Part } from '@pawl/service';
import { storable } from '../ledger/storable.ts';

export function createUserForgetting({ bus, database, log }: { bus: Bus; database: Queryable; log: Log }): Part {
  let stop = () => {};
  return {
    name: 'user-forgetting',
    async start() {
      stop = serveForgetting(bus, {
        service: 'llm-gateway',
        forget: (what) => forgetUsers(database, what),
        onError: (error) => log.error({ err: error }, 'what was asked for could not be forgotten'),
      });
    },
    async stop() {
      stop();
    },
  };
}

/** Calls over HTTP have no agent; they are found by the user, or by the run that they were made for, in the books. */
async function forgetUsers(database: Queryable, { app, runIds, userId }: Forgetting): Promise<void> {
  const of = [app, runIds, userId === undefined ? null : storable(userId)];
  await database.query(
    `update gateway.replies set thought = '' where thought <> '' and run_id = any (array(
       select unnest($2::text[])
       union select run_id from gateway.ledger where app = $1 and for_run_id = any ($2)
       union select run_id from gateway.ledger where app = $1 and user_id = $3 and agent is null))`,
    of,
  );
  await database.query(
    `delete from gateway.cached_answers
       where app = $1 and (line ->> 'for_run_id' = any ($2) or line ->> 'user_id' = $3)`,
    of,
  );
}
