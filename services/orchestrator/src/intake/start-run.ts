/**
 * Accepts a run: pins what it runs on (I7), commits it to Postgres (I3), then writes its first fact.
 * Once the row is committed the run will happen, also when the log can't be reached right now.
 */
import { randomBytes } from 'node:crypto';
import type { Bus, Definitions, Registry } from '@pawl/bus';
import { publishFact } from '@pawl/bus';
import {
  fingerprint,
  RejectedError,
  type CreateRun,
  type Definition,
  type Revisioned,
  type RunView,
  type Started,
} from '@pawl/contracts';
import { newTraceContext, runSpanId, type TraceContext } from '@pawl/telemetry';
import { foldRun } from '../partitions/read-run.ts';
import { settleLimits } from '../run/limits.ts';
import { missingTool, pin, type Declared, type PinnedAgent } from '../run/pin.ts';
import { startOf } from '../run/state.ts';
import { viewOf } from '../run/view.ts';
import type { RunStore } from './run-store.ts';
import { viewOfStored } from './stored-view.ts';

/** How long an answer waits for the log; the run is safe by then. */
const publishPatienceMs = 2_000;

/** Earlier runs of a session that a new one knows of. */
const historyMax = 10;

export type StartRun = (request: {
  app: string;
  /** Of the key that asks. */
  keyId: string;
  body: CreateRun;
  idempotencyKey: string | undefined;
  trace: TraceContext | undefined;
}) => Promise<{ isNew: boolean; view: RunView }>;

export function createStartRun(using: {
  bus: Bus;
  registry: Registry;
  definitions: Definitions;
  store: RunStore;
}): StartRun {
  return async ({ app, keyId, body, idempotencyKey, trace }) => {
    const agent = using.registry.find('Agent', app, body.agent);
    if (!agent) throw new RejectedError('unknown_agent', `there is no agent ${body.agent} in app ${app}`);
    const definition = await using.definitions.put(definitionOf(tuned(agent, body), declaredNow(using.registry, app)));
    const history = body.session ? await historyOf(using, app, { ...body, session: body.session }) : [];
    const context = { trace: trace ?? newTraceContext(), isRoot: !trace, history };
    const started = startedFact({ app, keyId, body, agent, definition, ...context });
    const requestHash = fingerprint(body);
    const accepted = await using.store.accept({ started, idempotencyKey, requestHash });
    if (accepted.outcome === 'repeated') {
      if (accepted.requestHash !== requestHash) {
        throw new RejectedError('idempotency_key_reused', 'this Idempotency-Key came with another body before');
      }
      return { isNew: false, view: viewOfStored(accepted.run) };
    }
    await Promise.race([publishStarted(using.bus, started), pause(publishPatienceMs)]);
    return { isNew: true, view: viewOf(startOf(started)) };
  };
}

/** Writes a run's first fact; when it fails, the watchdog does it later. */
export async function publishStarted(bus: Bus, started: Started): Promise<void> {
  const trace = { traceId: started.traceId, spanId: runSpanId(started.runId), isSampled: true };
  await publishFact(bus, started, trace).catch(() => undefined);
}

/** The agent with the numbers that the run sets again. */
function tuned(agent: Revisioned<'Agent'>, body: CreateRun): Revisioned<'Agent'> {
  const { spec } = agent.object;
  const changes = (['guards', 'reflection', 'compression', 'observation'] as const).flatMap((name) =>
    body[name] ? [[name, { ...spec[name], ...body[name] }] as const] : [],
  );
  return { ...agent, object: { ...agent.object, spec: { ...spec, ...Object.fromEntries(changes) } } };
}

/** What a run of an agent is pinned to. Throws `RejectedError` unknown_tool when the agent names a tool that isn't there. */
export function definitionOf(agent: PinnedAgent, declared: Declared): Definition {
  const { app, name } = agent.object.metadata;
  const definition = pin(agent, declared);
  const missing = missingTool(definition);
  if (missing === undefined) return definition;
  throw new RejectedError('unknown_tool', `agent ${name} names the tool ${missing}, which app ${app} doesn't have`);
}

/** What is declared in an app now. */
export function declaredNow(registry: Registry, app: string): Declared {
  return { agent: (name) => registry.find('Agent', app, name), tool: (name) => registry.find('Tool', app, name) };
}

function startedFact(of: {
  app: string;
  keyId: string;
  body: CreateRun;
  agent: Revisioned<'Agent'>;
  definition: string;
  trace: TraceContext;
  isRoot: boolean;
  history: NonNullable<Started['history']>;
}): Started {
  const { body, agent, trace } = of;
  const limits = settleLimits(agent.object.spec.limits, body.limits);
  const nowMs = Date.now();
  return {
    v: 1,
    kind: 'started',
    runId: newRunId(nowMs),
    app: of.app,
    at: new Date(nowMs).toISOString(),
    agent: { name: agent.object.metadata.name, revision: agent.revision },
    definition: of.definition,
    input: body.input,
    ...(body.user ? { user: body.user } : {}),
    keyId: of.keyId,
    ...(body.session ? { session: body.session } : {}),
    ...(of.history.length > 0 ? { history: of.history } : {}),
    ...(body.environment ? { environment: body.environment } : {}),
    ...(body.metadata ? { metadata: body.metadata } : {}),
    lane: body.lane ?? 'interactive',
    limits,
    deadlineAt: new Date(nowMs + limits.wallClockMs).toISOString(),
    traceId: trace.traceId,
    ...(of.isRoot ? {} : { parentSpanId: trace.spanId }),
  };
}

/** Earlier questions of the same user in a session, with their answers. What has only just ended is read from the log. */
async function historyOf(
  { store, bus }: { store: RunStore; bus: Bus },
  app: string,
  of: { session: string; user?: CreateRun['user'] | undefined },
): Promise<NonNullable<Started['history']>> {
  const runs = await store.sessionRuns({ app, session: of.session, userId: of.user?.id, limit: historyMax });
  const answered = runs.map(async ({ started, view }) => {
    const state = view ? undefined : await foldRun(bus, app, started.runId);
    const answer = (state ? viewOf(state) : view)?.answer;
    return answer == null || started.parent ? [] : [{ input: started.input, answer }];
  });
  return (await Promise.all(answered)).flat();
}

/** A UUID version 7 (RFC 9562) without dashes, behind `run_`. */
export function newRunId(nowMs: number): string {
  const time = nowMs.toString(16).padStart(12, '0');
  const random = randomBytes(10);
  random[0] = ((random[0] ?? 0) & 0x0f) | 0x70;
  random[2] = ((random[2] ?? 0) & 0x3f) | 0x80;
  return `run_${time}${random.toString('hex')}`;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
