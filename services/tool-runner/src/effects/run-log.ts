/** Looks into a run's log: whether a write may still start (I10), asked of the stream's leader, so that it isn't stale; and what people have said. */
import { factSubject, readFacts, type Bus } from '@pawl/bus';
import { streams } from '@pawl/contracts';

export type RunLog = {
  /** Why no write may start for a run any more, or undefined. */
  stopOf(app: string, runId: string): Promise<'cancelled' | 'paused' | 'ended' | undefined>;
  /** When the run decided on the calls of thought `m`, as Unix time in milliseconds. */
  askedAtMs(app: string, runId: string, m: number): Promise<number | undefined>;
  /** What a person has answered in the run to exactly this question, as JSON text; the newest answer counts. */
  answerTo(app: string, runId: string, question: string): Promise<string | undefined>;
};

export function createRunLog(bus: Bus): RunLog {
  const lastSequence = async (address: { app: string; runId: string }, slot: string) => {
    const message = await bus.jsm.streams.getMessage(streams.runs, { last_by_subj: factSubject(bus, address, slot) });
    return message?.seq ?? 0;
  };
  return {
    async stopOf(app, runId) {
      const address = { app, runId };
      const [ended, cancelled, paused, resumed] = await Promise.all(
        ['ended', 'cancel', 'paused.*', 'resumed.*'].map((slot) => lastSequence(address, slot)),
      );
      if (ended) return 'ended';
      if (cancelled) return 'cancelled';
      return (paused ?? 0) > (resumed ?? 0) ? 'paused' : undefined;
    },
    async askedAtMs(app, runId, m) {
      const facts = await readFacts(bus, app, runId);
      const acted = facts.find(({ fact }) => fact.kind === 'acted' && fact.m === m);
      return acted && Date.parse(acted.fact.at);
    },
    async answerTo(app, runId, question) {
      const facts = (await readFacts(bus, app, runId)).map(({ fact }) => fact);
      const asked = facts
        .filter((fact) => fact.kind === 'acted')
        .flatMap(({ m, calls }) => calls.map((call) => ({ ...call, m })))
        .filter(({ admission, why }) => admission === 'input' && why === question);
      const answers = facts.filter(
        (fact) => fact.kind === 'observed' && asked.some(({ m, i }) => fact.m === m && fact.i === i),
      );
      const last = answers.findLast((fact) => fact.kind === 'observed' && fact.observation.status === 'ok');
      return last?.kind === 'observed' && last.observation.data !== null ? wordsIn(last.observation.data) : undefined;
    },
  };
}

/** `{answer, data}`: what a person has written, or the data that came in its place. */
function wordsIn(json: string): string {
  const { answer, data } = JSON.parse(json) as { answer?: unknown; data?: unknown };
  return JSON.stringify(data ?? answer ?? null);
}
