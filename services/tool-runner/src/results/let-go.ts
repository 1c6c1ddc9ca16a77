/**
 * The buffers that a long result passes through lie outside of V8's heap, so V8 lets tens of megabytes of them pile up before it
 * looks. Whoever moves much data asks it, from time to time, to let go of what is young and unused; that takes about a millisecond.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;

let collect: Collect | undefined;

export function letGoOfBuffers(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  collect({ type: 'minor' });
}
