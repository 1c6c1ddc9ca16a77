/** For those on call: what waits in each lane and pool, and whether the record keeps up. */
import { useQuery } from '@tanstack/react-query';
import { fetchQueues, type Queue } from '../api/queues.ts';
import { ApiError } from '../api/request.ts';
import { queueState, type QueueState } from '../record/queue-state.ts';
import { Chip, type Tone } from '../ui/chip.tsx';
import { useProblemText } from '../ui/problem.tsx';
import { useWords } from '../words/words.tsx';

const refreshMs = 5_000;
const tones: Record<QueueState, Tone> = { idle: 'quiet', flowing: 'good', slow: 'warn', unattended: 'bad' };

export function QueueTable() {
  const { say, count } = useWords();
  const problemText = useProblemText();
  const { data, error } = useQuery({
    queryKey: ['queues'],
    queryFn: ({ signal }) => fetchQueues(signal),
    refetchInterval: refreshMs,
    retry: (failures, failure) => !(failure instanceof ApiError && failure.status < 500) && failures < 2,
  });
  if (!data && !error) return null;
  return (
    <section className="card queues">
      <h2>
        {say('health.queues')}
        {data && (
          <Chip tone={data.log.factsBehind === 0 ? 'good' : 'warn'}>
            {data.log.factsBehind === 0
              ? say('health.allStored')
              : say('health.behind', { count: data.log.factsBehind, shown: count(data.log.factsBehind) })}
          </Chip>
        )}
      </h2>
      {error && <p className="quiet">{problemText(error)}</p>}
      {data?.queues.length === 0 && <p className="quiet">{say('health.noQueues')}</p>}
      {data && data.queues.length > 0 && (
        <div className="scroll" tabIndex={0} role="group" aria-label={say('health.queues')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{say('health.queue')}</th>
                <th scope="col" className="number">
                  {say('health.waiting')}
                </th>
                <th scope="col" className="number">
                  {say('health.underWay')}
                </th>
                <th scope="col" className="number">
                  {say('health.oldest')}
                </th>
                <th scope="col">{say('col.status')}</th>
              </tr>
            </thead>
            <tbody>
              {data.queues.map((queue) => (
                <QueueRow key={`${queue.work} ${queue.queue}`} queue={queue} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function QueueRow({ queue }: { queue: Queue }) {
  const { say, wordFor, count, duration } = useWords();
  const state = queueState(queue);
  return (
    <tr>
      <th scope="row">
        {say(`health.${queue.work}`)} <span className="quiet">{wordFor('lane', queue.queue)}</span>
      </th>
      <td className="number">{count(queue.waiting)}</td>
      <td className="number">{count(queue.underWay)}</td>
      <td className="number">{queue.waiting === 0 ? '–' : duration(queue.oldestWaitingMs)}</td>
      <td>
        <Chip tone={tones[state]}>{say(`queue.${state}`)}</Chip>
      </td>
    </tr>
  );
}
