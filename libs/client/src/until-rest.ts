/**
 * Reading a run's events until nothing more comes by itself: it has ended, it paused at a limit, or only people's words are
 * missing. The facts say when to look, the run itself says whether it is so: what was read may be an old pause.
 */
import { isAtRest, type Acted, type Fact, type RunView } from '@pawl/contracts';
import type { RunEvent } from './run-events.ts';

/** The events up to the first rest. `readRun` answers as soon as the run is at rest, or after a while. */
export async function* untilRest(
  events: AsyncIterable<RunEvent>,
  readRun: () => Promise<RunView>,
): AsyncGenerator<RunEvent, void, undefined> {
  const mayRest = watchForRest();
  for await (const event of events) {
    yield event;
    if (event.kind !== 'fact' || !mayRest(event.fact)) continue;
    const run = await readRun();
    if (run.status !== 'ended' && isAtRest(run)) return;
  }
}

/** Takes a run's facts in order and says of each whether the run rests behind it: paused, or waiting only for people. */
export function watchForRest(): (fact: Fact) => boolean {
  let open = new Map<number, Acted['calls'][number]>();
  const settle = (fact: Fact): void => {
    if (fact.kind === 'acted') open = new Map(fact.calls.map((call) => [call.i, call]));
    if (fact.kind === 'observed') open.delete(fact.i);
    // A decided call is sent or refused, an answered question is observed: it goes on until that is there.
    if (fact.kind === 'approval') forget(open.get(fact.i));
    if (fact.kind === 'signal') for (const call of open.values()) if (call.admission === 'input') forget(call);
  };
  const forget = (call: Acted['calls'][number] | undefined): void => {
    if (call) open.set(call.i, { ...call, admission: 'run' });
  };
  return (fact) => {
    settle(fact);
    if (fact.kind === 'paused') return true;
    const calls = [...open.values()];
    return calls.length > 0 && calls.every(({ admission }) => admission === 'approval' || admission === 'input');
  };
}
