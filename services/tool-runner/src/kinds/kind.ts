/**
 * The port of a tool kind. One file per kind; every kind passes `kind.suite.ts`.
 * A kind executes a call whose arguments were checked, and gives an outcome: what can go wrong in the world is data.
 * What it throws is a bug. It does not retry, does not cut for the model, and keeps nothing between calls but connections.
 */
import type { Arguments } from '@pawl/calls';
import type { Tool } from '@pawl/contracts';
import type { TraceContext } from '@pawl/telemetry';
import type { Outcome } from '../call/outcome.ts';
import type { Report } from '../effects/report.ts';
import type { NestedCall } from '../nested-call.ts';
import type { Spool } from '../results/result-store.ts';

export type KindCall = {
  app: string;
  tool: Tool;
  args: Arguments;
  /** The run that the call belongs to; absent when a tool is only tried. */
  runId: string | undefined;
  /** The key of the effect, for writes. */
  effectKey: string | undefined;
  /** The span that the call's own requests hang under. */
  trace: TraceContext;
  /** Aborted with a `BrokenOffError`. The kind then lets go of sockets and statements at once. */
  signal: AbortSignal;
  /** Characters that the model sees at once, for kinds that page. */
  maxChars: number;
  /** When the call has to be over, as Unix time in milliseconds. */
  deadlineAtMs: number;
  /** Where a result goes that is too large to hold. Absent outside of a run, where such a result is refused. */
  spool: Spool | undefined;
  /** Has to be called for each sign of life of the tool: a piece of its answer, or progress that it tells. */
  onLife: () => void;
  /** When the run decided on the call, as Unix time in milliseconds; absent outside of a run. */
  askedAtMs: (() => Promise<number | undefined>) | undefined;
  /** What a person has answered in the run to exactly this question, as JSON text; absent outside of a run. */
  answerTo: ((question: string) => Promise<string | undefined>) | undefined;
  /** Calls another tool of the app as a part of this call; its result comes whole. */
  callTool(nested: NestedCall): Promise<Report>;
};

export type Kind = {
  execute(call: KindCall): Promise<Outcome>;
  /** Refuses, with `RejectedError`, a tool that could never work. Does no I/O. */
  check(tool: Tool): void;
  close(): Promise<void>;
};
