/** For those on call: whether the services answer, and how the latest runs went. */
import { useQuery } from '@tanstack/react-query';
import { fetchHealth, type ServiceHealth } from '../api/health.ts';
import { fetchRuns } from '../api/traces.ts';
import type { TracedRun } from '../record/trace.ts';
import { Link } from '../router.tsx';
import { Chip, toneOfStop, type Tone } from '../ui/chip.tsx';
import { Loading } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { useWords } from '../words/words.tsx';
import { DayFigures } from './day-figures.tsx';
import { QueueTable } from './queue-table.tsx';

const refreshMs = 5_000;
const recentRuns = 200;

const tones: Record<ServiceHealth['state'], Tone> = {
  ready: 'good',
  not_ready: 'bad',
  silent: 'bad',
  not_allowed: 'quiet',
};

export function Health() {
  const { say } = useWords();
  const health = useQuery({ queryKey: ['health'], queryFn: fetchHealth, refetchInterval: refreshMs });
  const runs = useQuery({
    queryKey: ['recent'],
    queryFn: ({ signal }) => fetchRuns({ limit: String(recentRuns) }, null, signal),
    refetchInterval: refreshMs,
  });
  useTitle(say('nav.health'));
  return (
    <>
      <div className="list-head">
        <h1>{say('nav.health')}</h1>
        <p className="quiet">{say('health.why')}</p>
      </div>
      {health.isPending && <Loading />}
      <div className="budgets services">
        {health.data?.map((service) => (
          <ServiceCard key={service.name} service={service} />
        ))}
      </div>
      <QueueTable />
      <DayFigures />
      {runs.data && runs.data.items.length > 0 && <Recent runs={runs.data.items} />}
    </>
  );
}

function ServiceCard({ service: { name, state, answeredInMs, checks } }: { service: ServiceHealth }) {
  const { say, wordFor, duration } = useWords();
  return (
    <section className="card service">
      <h2>
        {name} <Chip tone={tones[state]}>{say(`health.${state}`)}</Chip>
      </h2>
      {answeredInMs !== undefined && <p className="quiet">{say('health.inTime', { time: duration(answeredInMs) })}</p>}
      {Object.keys(checks).length > 0 && (
        <ul className="checks">
          {Object.entries(checks).map(([check, isGood]) => (
            <li key={check}>
              {wordFor('health.check', check)}{' '}
              <Chip tone={isGood ? 'good' : 'bad'}>{say(isGood ? 'health.ready' : 'health.not_ready')}</Chip>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Recent({ runs }: { runs: TracedRun[] }) {
  const { say, wordFor, count, duration } = useWords();
  const ended = runs.filter(({ status }) => status === 'ended');
  const faults = runs.filter(({ stopReason }) => stopReason !== null && toneOfStop(stopReason) === 'bad').length;
  const durations = ended.flatMap(({ durationMs }) => durationMs ?? []).toSorted((left, right) => left - right);
  const quantile = (share: number) => durations[Math.min(durations.length - 1, Math.floor(durations.length * share))];
  const reasons = [...Map.groupBy(runs, ({ status, stopReason }) => stopReason ?? status)].toSorted(
    ([, left], [, right]) => right.length - left.length,
  );
  const figures = [
    [say('health.runningNow'), count(runs.filter(({ status }) => status === 'running').length)],
    [say('health.failing'), count(faults)],
    [`${say('col.duration')} p50`, duration(quantile(0.5))],
    [`${say('col.duration')} p95`, duration(quantile(0.95))],
  ];
  return (
    <section className="card recent">
      <h2>{say('health.recent', { count: runs.length })}</h2>
      <dl className="totals">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <ul className="reasons">
        {reasons.map(([reason, group]) => {
          const isStop = group[0]?.stopReason !== null;
          const to = `/runs?${new URLSearchParams({ [isStop ? 'stopReason' : 'status']: reason })}`;
          return (
            <li key={reason}>
              <Link to={to}>{wordFor(isStop ? 'stop' : 'status', reason)}</Link>
              <span className="reason-bar" aria-hidden="true">
                <span
                  data-tone={isStop ? toneOfStop(reason) : 'live'}
                  style={{ width: `${(group.length / runs.length) * 100}%` }}
                />
              </span>
              <span className="reason-count">{count(group.length)}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
