/** Kinds of faults around processes that die, stand still or come back late; real processes, real signals. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectBus, followFacts, readFacts, type Bus } from '@pawl/bus';
import { slotOf, streams, subjects, type Ended, type RunView } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { startProcesses, type Processes, type ServiceName } from './processes.ts';
import { startToolServer, type ToolServer } from './tool-server.ts';

const isFull = process.env['PAWL_TEST_FULL'] !== undefined;
const servers = useTestServers();
let tools: ToolServer;
let pawl: Processes;
let bus: Bus;

beforeAll(async () => {
  tools = await startToolServer();
  pawl = await startProcesses({
    servers,
    models: {
      scripted: {
        delayMs: 100,
        respond: ({ question, turn }) =>
          turn < Number(question.split(' ')[2] ?? 1)
            ? { say: 'On it.', calls: [{ tool: question.split(' ')[0] ?? '', args: { q: `${question} ${turn}` } }] }
            : { answer: 'Done.' },
      },
    },
  });
  bus = await connectBus({ url: servers.natsUrl, name: 'watching' });
  const http = { method: 'POST' as const, url: `${tools.url}/done` };
  await pawl.api.putTool('write', { effect: 'write', idempotent: true, http });
  await pawl.api.putTool('held', { effect: 'write', timeout: '600s', http: { ...http, url: `${tools.url}/held` } });
  await pawl.api.putAgent('clerk', { tools: ['write', 'held'], limits: { wallClock: '600s' } });
});
afterAll(async () => {
  await bus.close();
  await pawl.stop();
  await tools.stop();
});

const start = async (input: string): Promise<RunView> => (await pawl.api.startRun({ agent: 'clerk', input })).body;
const effectsOf = (input: string) => tools.calls.filter(({ body }) => String(body['q']).startsWith(input));

async function expectDone(run: RunView): Promise<void> {
  const ended = await eventually(
    async () => {
      const { body } = await pawl.api.getRun(run.id);
      return body.status === 'ended' && body;
    },
    { withinMs: 90_000, what: `run ${run.id} ends` },
  );
  expect(ended).toMatchObject({ stopReason: 'final_answer', answer: 'Done.' });
}

/** The run as Postgres has it is the run as its log ends. */
async function expectToldAlike(run: RunView): Promise<void> {
  const facts = (await readFacts(bus, 'demo', run.id)).map(({ fact }) => fact);
  const ended = facts.find((fact): fact is Ended => fact.kind === 'ended');
  const { body } = await pawl.api.getRun(run.id);
  const { steps, toolCalls, tokens, cost } = body;
  expect({ steps, toolCalls, tokens, costNanoUsd: cost.nanoUsd }).toEqual({
    steps: ended?.steps,
    toolCalls: ended?.toolCalls,
    tokens: ended?.tokens,
    costNanoUsd: ended?.costNanoUsd,
  });
  const thoughts = facts.filter((fact) => fact.kind === 'thought');
  expect(BigInt(cost.nanoUsd)).toBe(thoughts.reduce((sum, { costNanoUsd }) => sum + BigInt(costNanoUsd), 0n));
  expect(new Set(facts.map(slotOf)).size).toBe(facts.length);
}

describe('R3 two records that belong together do not commit together', () => {
  const points: [ServiceName, string][] = isFull
    ? (['orchestrator', 'llm-gateway', 'tool-runner'] as const).flatMap((name) =>
        ['started', 'thought.0', 'acted.0', 'observed.0.0', 'thought.1', 'ended'].map((slot): [ServiceName, string] => [
          name,
          slot,
        ]),
      )
    : [
        ['orchestrator', 'acted.0'],
        ['llm-gateway', 'started'],
        ['tool-runner', 'acted.0'],
      ];

  // Facts are published with `lastSubjectSequence: 0` (publish.ts) after what they tell is committed (I3); whoever comes
  // back looks first what is there: `onFact` in partition.ts folds the log before it decides, the gateway asks its ledger,
  // the tool-runner its effects.
  it.each(points)(
    'kill -9 of %s at %s: the state is the fold of the log, the effect is one',
    async (name, slot) => {
      const input = `write ${name}@${slot}`;
      const killed = Promise.withResolvers<void>();
      const run = await start(input);
      const following = followFacts(bus, {
        filter: subjects.factsOfRun('demo', run.id),
        onFact: ({ fact }) => void (slotOf(fact) === slot && pawl.kill(name).then(killed.resolve, killed.reject)),
      });
      await killed.promise;
      await following.stop();
      await pawl.start(name);
      await expectDone(run);
      await expectToldAlike(run);
      const keys = effectsOf(input).map(({ headers }) => headers['idempotency-key']);
      expect(new Set(keys).size).toBe(1);
    },
    180_000,
  );
});

describe("R4 'accepted' answered before anything durable exists", () => {
  // `startRun` commits the run before it answers (I3); the watchdog writes first facts again that the log has lost, and
  // early-facts.ts keeps what others wrote meanwhile.
  it('the API is killed right after it answered, and the log is wiped: every accepted run still ends', async () => {
    const input = 'write wiped';
    const runs = await Promise.all(Array.from({ length: isFull ? 100 : 8 }, (_, n) => start(`${input}${n}`)));
    await pawl.kill('orchestrator');
    await bus.jsm.streams.purge(streams.runs);
    await pawl.start('orchestrator');
    for (const run of runs) await expectDone(run);
  }, 180_000);
});

describe("R20 runs stay 'running' for ever after a worker dies", () => {
  // Leases run out and are taken by others (leases.ts), unacknowledged work comes again (work-source.ts), `tick` in
  // live-run.ts does again what is overdue.
  it('kill -9 of every process under running runs: all of them end', async () => {
    const input = 'write everything';
    const runs = await Promise.all(Array.from({ length: isFull ? 200 : 12 }, (_, n) => start(`${input}${n} 3`)));
    await eventually(() => effectsOf(input).length > 3);
    const names: ServiceName[] = ['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store'];
    await Promise.all(names.map((name) => pawl.kill(name)));
    await Promise.all(names.map((name) => pawl.start(name)));
    for (const run of runs) await expectDone(run);
    for (const run of runs) await expectToldAlike(run);
  }, 240_000);
});

describe('R1 a lease or ack deadline lapses while the worker lives: the step runs twice', () => {
  // Three protect: work-queue.ts says every 2 s that held work is under way (I5), waiting-room.ts does not begin again what
  // comes again, and act-work.ts joins the call under way (`underWay`). It fails once all three are gone.
  it('a call that takes longer than the ack wait, and a worker that stands still for longer: one effect', async () => {
    const waitMs = isFull ? 45_000 : 10_000;
    tools.hold();
    const run = await start('held long');
    await eventually(() => effectsOf('held long').length === 1);
    pawl.freeze('tool-runner');
    // Time is what is tested: the ack wait of 8 s has to lapse while the worker stands still.
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    pawl.thaw('tool-runner');
    // Time is what is tested: the ack wait lapses once more while the worker is busy and says so.
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    tools.release();
    await expectDone(run);
    expect(effectsOf('held long')).toHaveLength(1);
    const observed = (await readFacts(bus, 'demo', run.id)).filter(({ fact }) => fact.kind === 'observed');
    expect(observed).toMatchObject([{ fact: { observation: { status: 'ok' } } }]);
  }, 240_000);
});

describe('R2 a zombie writes after it was replaced', () => {
  // The slot of an observation is written once (publish.ts), and an effect is claimed before it is made (guard-write.ts).
  it('a tool-runner stands still past its deadline, another one finishes: the late result is refused', async () => {
    tools.hold();
    const run = await start('held zombie');
    await eventually(() => effectsOf('held zombie').length === 1);
    pawl.freeze('tool-runner');
    await pawl.startSpare('tool-runner');
    const first = await eventually(
      async () => (await readFacts(bus, 'demo', run.id)).find(({ fact }) => fact.kind === 'observed'),
      { withinMs: 60_000 },
    );
    expect(first.fact).toMatchObject({ observation: { status: 'in_doubt' } });
    tools.release();
    pawl.thaw('tool-runner');
    await expectDone(run);
    expect(effectsOf('held zombie')).toHaveLength(1);
    const observed = (await readFacts(bus, 'demo', run.id)).filter(({ fact }) => fact.kind === 'observed');
    expect(observed).toEqual([first]);
  }, 240_000);
});
