/**
 * Forks: a new run that takes over another one's steps up to a point and goes its own way from there, with other
 * instructions, models or input. What was observed is not done again, and writes are blocked unless they are allowed.
 */
import type { Bus, Definitions } from '@pawl/bus';
import { fingerprint, type ForkRun, type RunUser, type RunView, type Started } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { foldRun, hasLeftLog } from '../partitions/read-run.ts';
import { seedOf, type Seed } from '../run/seed.ts';
import { startOf } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import type { RunStore } from './run-store.ts';
import { newRunId, publishStarted } from './start-run.ts';

export type MakeFork = (request: {
  app: string;
  /** Of the key that asks. */
  keyId: string;
  /** Who forks, where that is known: the fork has that user's rights, not those of the run that it comes from. */
  user: RunUser | undefined;
  runId: string;
  body: ForkRun;
}) => Promise<RunView>;

export function createForkRun(using: { bus: Bus; definitions: Definitions; store: RunStore }): MakeFork {
  return async ({ app, keyId, user, runId, body }) => {
    const original = await foldRun(using.bus, app, runId);
    if (!original) throw hasLeftLog(runId);
    const seed = seedOf(original, body.fromStep);
    const definition = await using.definitions.get(original.started.definition);
    const { spec } = definition.agent.object;
    const changed = {
      ...definition.agent.object,
      spec: {
        ...spec,
        ...(body.instructions ? { instructions: body.instructions } : {}),
        models: { ...spec.models, ...withoutGaps(body.models ?? {}) },
      },
    };
    const agent = { revision: fingerprint(changed), object: changed };
    const started = forkOf(original.started, {
      body,
      keyId,
      user,
      seed,
      agent: { name: changed.metadata.name, revision: agent.revision },
      definition: await using.definitions.put({ ...definition, agent }),
    });
    await using.store.accept({ started, idempotencyKey: undefined, requestHash: fingerprint(body) });
    await publishStarted(using.bus, started);
    return viewOf(startOf(started));
  };
}

function forkOf(
  original: Started,
  of: {
    body: ForkRun;
    keyId: string;
    user: RunUser | undefined;
    seed: Seed;
    agent: Started['agent'];
    definition: string;
  },
): Started {
  const nowMs = Date.now();
  const { parent: _parent, ancestors: _ancestors, parentSpanId: _span, ...kept } = original;
  return {
    ...kept,
    runId: newRunId(nowMs),
    at: new Date(nowMs).toISOString(),
    agent: of.agent,
    definition: of.definition,
    input: of.body.input ?? original.input,
    ...(of.user ? { user: of.user } : {}),
    keyId: of.keyId,
    deadlineAt: new Date(nowMs + original.limits.wallClockMs).toISOString(),
    forkOf: { runId: original.runId, fromStep: of.body.fromStep },
    seed: of.seed,
    areWritesBlocked: of.body.allowWrites !== true,
    traceId: newTraceContext().traceId,
  };
}

function withoutGaps<T extends object>(values: T): { [K in keyof T]: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: NonNullable<T[K]>;
  };
}
