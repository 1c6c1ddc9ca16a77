/** Budgets: what may be spent, what is held, what is spent; and spending day by day. */
import { useQuery } from '@tanstack/react-query';
import {
  fetchBudgets,
  fetchSpending,
  leftOf,
  shareUsed,
  sizeOf,
  type Amount,
  type Budget,
  type SpentDay,
} from '../api/budgets.ts';
import { visibleText } from '../record/format.ts';
import { SeriesChart } from '../ui/chart.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { useWords, type Words } from '../words/words.tsx';
import { BurnDown } from './burn-down.tsx';

const refreshMs = 5_000;

export function Budgets() {
  const { say } = useWords();
  const budgets = useQuery({
    queryKey: ['budgets'],
    queryFn: ({ signal }) => fetchBudgets(signal),
    refetchInterval: refreshMs,
  });
  const spending = useQuery({
    queryKey: ['spending'],
    queryFn: ({ signal }) => fetchSpending(signal),
    refetchInterval: 30_000,
  });
  useTitle(say('nav.budgets'));
  return (
    <>
      <div className="list-head">
        <h1>{say('nav.budgets')}</h1>
        <p className="quiet">{say('budget.why')}</p>
      </div>
      {budgets.isPending && <Loading />}
      {budgets.isError && <Problem error={budgets.error} onRetry={() => void budgets.refetch()} />}
      {budgets.data?.length === 0 && (
        <div className="empty-list">
          <h2>{say('budget.none')}</h2>
          <p className="quiet">{say('budget.noneWhy')}</p>
        </div>
      )}
      <div className="budgets">
        {budgets.data?.map((budget) => (
          <BudgetCard key={budget.name} budget={budget} />
        ))}
      </div>
      {spending.data && spending.data.length > 0 && <Spending days={spending.data} />}
    </>
  );
}

function BudgetCard({ budget }: { budget: Budget }) {
  const { name, spec, state } = budget;
  const words = useWords();
  const { say, minute } = words;
  const { limit, held, spent, window } = state;
  const whole = Math.max(1, sizeOf(limit));
  const { agent, user, key } = spec.scope;
  const whom = [
    agent === undefined ? '' : say('budget.agent', { name: agent }),
    user === undefined ? '' : say('budget.user', { name: visibleText(user) }),
    key === undefined ? '' : say('budget.key', { name: visibleText(key) }),
  ].filter((part) => part !== '');
  // Calls at once are only ever under way.
  const isOfMoment = 'concurrent' in limit;
  const figures: [kind: string, label: string, amount: Amount][] = [
    ['spent', say('budget.spent'), spent],
    ['held', say(isOfMoment ? 'budget.underWay' : 'budget.held'), held],
    ['left', say('budget.left'), leftOf(state)],
    ['limit', say('budget.limit'), limit],
  ];
  const about = [whom.join(', ') || say('budget.all'), isOfMoment ? '' : say(`window.${spec.window}`)];
  return (
    <section className="card budget" data-tone={toneOf(shareUsed(state))}>
      <h2>{name}</h2>
      <p className="quiet">
        {about.filter((part) => part !== '').join(' · ')}
        {window.to !== null && !isOfMoment && ` · ${say('budget.until', { time: minute(window.to) })}`}
      </p>
      <div
        className="meter"
        role="meter"
        aria-label={say('budget.spent')}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(Math.min(1, sizeOf(spent) / whole) * 100)}
      >
        <span className="spent" style={{ width: `${Math.min(100, (sizeOf(spent) / whole) * 100)}%` }} />
        <span className="held" style={{ width: `${Math.min(100, (sizeOf(held) / whole) * 100)}%` }} />
      </div>
      <dl className="totals">
        {figures
          .filter(([kind]) => kind !== 'spent' || !isOfMoment)
          .map(([kind, label, amount]) => (
            <div key={kind} data-kind={kind}>
              <dt>{label}</dt>
              <dd>{amountText(amount, words)}</dd>
            </div>
          ))}
      </dl>
      <BurnDown budget={budget} />
    </section>
  );
}

function toneOf(share: number): string {
  if (share >= 0.95) return 'bad';
  return share >= 0.75 ? 'warn' : 'good';
}

function amountText(amount: Amount, { say, cost, count }: Words): string {
  if ('nanoUsd' in amount) return cost(amount);
  if ('tokens' in amount) return say('budget.tokens', { shown: count(amount.tokens) });
  if ('calls' in amount) return say('budget.calls', { shown: count(amount.calls) });
  return say('budget.concurrent', { shown: count(amount.concurrent) });
}

function Spending({ days }: { days: SpentDay[] }) {
  const { say, cost } = useWords();
  const points = days.map(({ day, cost: sum }) => ({
    label: day.slice(0, 10),
    value: Number(sum.amount),
    text: sum.amount,
  }));
  return (
    <section className="card spending">
      <h2>{say('budget.spending')}</h2>
      {points.length > 1 && (
        <SeriesChart chart={{ kind: 'series', column: say('budget.spent'), by: say('window.day'), points }} />
      )}
      <dl className="pairs">
        {days
          .slice(-7)
          .toReversed()
          .map(({ day, cost: sum }) => (
            <div key={day}>
              <dt>{day.slice(0, 10)}</dt>
              <dd>{cost(sum)}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}
