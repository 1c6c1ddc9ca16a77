/** A run out of Postgres alone, as clients see it. */
import type { RunView } from '@pawl/contracts';
import { startOf } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import type { StoredRun } from './run-store.ts';

/** How it ended, or that it runs. */
export function viewOfStored(run: StoredRun): RunView {
  return run.view ?? viewOf(startOf(run.started));
}
