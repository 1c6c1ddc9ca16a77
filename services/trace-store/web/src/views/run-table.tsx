/** Runs as rows. */
import { visibleText } from '../record/format.ts';
import { costOfRun, type TracedRun } from '../record/trace.ts';
import { Link } from '../router.tsx';
import { StatusChip } from '../ui/status-chip.tsx';
import { useWords } from '../words/words.tsx';

type RunTableProps = { runs: TracedRun[]; chosen?: string[]; onChoose?: (id: string) => void };

export function RunTable({ runs, chosen = [], onChoose }: RunTableProps) {
  const { say } = useWords();
  return (
    <table className="runs">
      <caption className="visually-hidden">{say('list.caption')}</caption>
      <thead>
        <tr>
          <th scope="col">{say('col.question')}</th>
          <th scope="col">{say('col.status')}</th>
          <th scope="col" className="number">
            {say('col.steps')}
          </th>
          <th scope="col" className="number">
            {say('col.cost')}
          </th>
          <th scope="col" className="number">
            {say('col.duration')}
          </th>
          <th scope="col">{say('col.started')}</th>
          {onChoose && (
            <th scope="col">
              <span className="visually-hidden">{say('action.compare')}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <RunRow key={run.id} run={run} isChosen={chosen.includes(run.id)} onChoose={onChoose} />
        ))}
      </tbody>
    </table>
  );
}

type RunRowProps = { run: TracedRun; isChosen: boolean; onChoose: ((id: string) => void) | undefined };

function RunRow({ run, isChosen, onChoose }: RunRowProps) {
  const { say, count, cost, duration, age, time } = useWords();
  const question = visibleText(run.question ?? say('list.noQuestion'));
  return (
    <tr>
      <td className="question">
        <Link to={`/runs/${encodeURIComponent(run.id)}`} dir="auto">
          {question}
        </Link>
        <span className="quiet">{visibleText(run.agent ?? say('list.unknownAgent'))}</span>
      </td>
      <td data-label={say('col.status')}>
        <StatusChip run={run} />
      </td>
      <td className="number" data-label={say('col.steps')}>
        {count(run.steps)}
      </td>
      <td className="number" data-label={say('col.cost')}>
        {cost(costOfRun(run))}
      </td>
      <td className="number" data-label={say('col.duration')}>
        {duration(run.durationMs)}
      </td>
      <td data-label={say('col.started')}>
        {run.startedAt === null ? (
          '–'
        ) : (
          <time dateTime={run.startedAt} title={time(run.startedAt)}>
            {age(run.startedAt)}
          </time>
        )}
      </td>
      {onChoose && (
        <td className="choose">
          <input
            type="checkbox"
            checked={isChosen}
            onChange={() => onChoose(run.id)}
            aria-label={`${say('list.choose')}: ${question}`}
          />
        </td>
      )}
    </tr>
  );
}
