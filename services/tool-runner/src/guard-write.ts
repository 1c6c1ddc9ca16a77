/**
 * Stands before every write (I10): looks into the run's log, claims the effect, executes, stores the result, in this order.
 * A claim without a result is sent again only under the same key and only if the tool says that it may be; else the
 * observation is `in_doubt`. Must not execute anything while Postgres can't be reached: writes wait.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Arguments } from '@pawl/calls';
import { UnavailableError } from '@pawl/contracts';
import type { Queryable } from '@pawl/db';
import { businessKeyOf } from './call/business-key.ts';
import { effectKey } from './call/effect-key.ts';
import { isRepeatable } from './call/observation-of.ts';
import { refusal, type Outcome } from './call/outcome.ts';
import {
  claimEffect,
  findEffect,
  finishEffect,
  releaseEffect,
  takeOverEffect,
  type Claimant,
  type Effect,
} from './effects/effect-store.ts';
import type { Report } from './effects/report.ts';
import type { RunLog } from './effects/run-log.ts';
import type { CallRequest } from './run-call.ts';

export type Write = {
  request: CallRequest;
  args: Arguments;
  signal: AbortSignal;
  /** `keepLate` gets what the tool still said after the call had been given up. */
  execute(effectKey: string, keepLate: (report: Report) => Promise<void>): Promise<Report>;
  /** The report of an outcome that comes without execution. */
  refuse(outcome: Outcome): Promise<Report>;
};

export type WriteGuard = (write: Write) => Promise<Report>;

export type WriteGuardOptions = {
  database: Queryable;
  runLog: RunLog;
  /** This process, for people who look into the table. */
  owner: string;
};

const pollEveryMs = 100;
const finishPatienceMs = 20_000;

export function createWriteGuard({ database, runLog, owner }: WriteGuardOptions): WriteGuard {
  const executeClaimed = async (write: Write, claimant: Claimant) => {
    const keepLate = async (report: Report) => void (await storeResult(database, claimant, report));
    const report = await write.execute(claimant.key, keepLate);
    // Business that certainly wasn't done may be asked for again.
    if (write.request.tool.spec.businessKey !== undefined && isWithoutEffect(report)) {
      await releaseEffect(database, claimant);
      return report;
    }
    return await storeResult(database, claimant, report);
  };

  return async (write) => {
    const { request } = write;
    const claimed = claimantOf(write, owner);
    if ('outcome' in claimed) return await write.refuse(claimed.outcome);
    const { claimant } = claimed;
    const [known, stop] = await Promise.all([
      findEffect(database, claimant),
      request.position ? runLog.stopOf(request.app, request.position.runId) : undefined,
    ]);
    if (known) return await goOn(known, { write, claimant, stop });
    if (stop) return await write.refuse(runStopped(stop));
    if (await claimEffect(database, claimant)) return await executeClaimed(write, claimant);
    const other = await findEffect(database, claimant);
    if (!other) throw new UnavailableError('a claim was there and then was not');
    return await goOn(other, { write, claimant, stop });
  };

  async function goOn(
    effect: Effect,
    { write, claimant, stop }: { write: Write; claimant: Claimant; stop: string | undefined },
  ): Promise<Report> {
    if (effect.state === 'done')
      return effect.isSameCall ? effect.report : duplicateOf(effect.report, effect.isSameRun);
    if (!effect.isSameCall) return await awaitOther(write, claimant);
    if (!isRepeatable(write.request.tool.spec) || stop) {
      return await storeResult(database, claimant, await write.refuse(inDoubt));
    }
    await takeOverEffect(database, claimant);
    return await executeClaimed(write, claimant);
  }

  /** The same write was asked for twice in one step: the second call tells what came of the first. */
  async function awaitOther(write: Write, claimant: Claimant): Promise<Report> {
    while (!write.signal.aborted) {
      const effect = await findEffect(database, claimant);
      if (effect?.state === 'done') return duplicateOf(effect.report, effect.isSameRun);
      await delay(pollEveryMs, undefined, { signal: write.signal }).catch(() => {});
    }
    return await write.refuse(inDoubt);
  }
}

function claimantOf({ request, args }: Write, owner: string): { claimant: Claimant } | { outcome: Outcome } {
  const { app, position } = request;
  const tool = request.tool.metadata.name;
  const { runId, m, i, step } = position ?? { runId: `try_${request.tryId ?? randomUUID()}`, m: 0, i: 0, step: 0 };
  // A part of another call is an effect of its own, at the place where it stands.
  const place = position?.within === undefined ? tool : `${position.within}:${tool}`;
  const { businessKey } = request.tool.spec;
  const business =
    businessKey === undefined ? undefined : businessKeyOf({ app, tool, expression: businessKey }, args.text);
  if (business && 'problem' in business) {
    const message = `The arguments do not say which business this is (${businessKey}): ${business.problem}.`;
    return { outcome: refusal('invalid_arguments', message, 'Give the arguments that the tool needs for that.') };
  }
  const key = business?.key ?? effectKey({ app, runId, step, tool: place, args: args.text });
  return { claimant: { key, app, runId, m, i, tool: place, owner } };
}

/** The effect has happened: its result is stored before anything else, however long Postgres stays away within reason. */
async function storeResult(database: Queryable, claimant: Claimant, report: Report): Promise<Report> {
  const giveUpAt = performance.now() + finishPatienceMs;
  for (;;) {
    try {
      return await finishEffect(database, claimant, report);
    } catch (error) {
      if (!(error instanceof UnavailableError) || performance.now() > giveUpAt) throw error;
      await delay(pollEveryMs);
    }
  }
}

const inDoubt: Outcome = {
  kind: 'failure',
  code: 'in_doubt',
  message: 'The call was begun before, and its result was lost.',
  isTransient: false,
  effect: 'possible',
};

function runStopped(stop: string): Outcome {
  return refusal('run_stopped', `The run is ${stop}, so the call was not made.`);
}

/** As the observation of a write tells it: what may have had an effect is `in_doubt`. */
function isWithoutEffect({ observation }: Report): boolean {
  return observation.status === 'error' || observation.status === 'denied';
}

/** A reference of another run can't be read in this one. */
function duplicateOf(report: Report, isSameRun: boolean): Report {
  const { observation } = report;
  return {
    ...report,
    observation: {
      ...observation,
      status: 'duplicate',
      errorCode: 'duplicate_call',
      message: isSameRun
        ? 'The same call was made already; this is what came of it.'
        : 'The same business was done in another run; this is what came of it.',
      suggestion: null,
      ref: isSameRun ? observation.ref : null,
    },
  };
}
