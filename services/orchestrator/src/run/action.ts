/** What `decide` asks for: effects as data, carried out by the partition that owns the run. */
import type { ActedCall, Fact, StopReason } from '@pawl/contracts';

export type ModelCall = {
  m: number;
  purpose: 'think' | 'plan' | 'reflect' | 'summarize' | 'conclude';
  /** On a closing call: why the run is being closed. */
  closing?: StopReason;
};

export type Action =
  /** Write this fact into its slot. */
  | { type: 'write'; fact: Fact }
  /** Ask a model. */
  | ({ type: 'think' } & ModelCall)
  /** Have a tool executed, with these arguments. */
  | { type: 'act'; m: number; step: number; call: ActedCall; args: string; argsHash: string }
  /** See to it that a run is under way that answers this call, or that its answer is here. */
  | { type: 'subrun'; m: number; step: number; call: ActedCall; args: string }
  /** Stop the run that answers this call. */
  | { type: 'stop-subrun'; m: number; call: ActedCall }
  /** A person's decision has not come in time. */
  | { type: 'expire'; m: number; call: ActedCall }
  /** Ask again at this time, whatever happens until then. */
  | { type: 'wake'; atMs: number };
