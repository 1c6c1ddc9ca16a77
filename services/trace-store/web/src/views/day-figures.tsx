/** For those on call: the last 24 hours in figures, runs and money by the hour, and which tools fail. */
import { useQuery } from '@tanstack/react-query';
import { fetchFigures, type Figures, type HourOfRuns } from '../api/figures.ts';
import { byHour, byTool, type ToolFigures } from '../record/day-figures.ts';
import { visibleText } from '../record/format.ts';
import { SeriesChart } from '../ui/chart.tsx';
import { Chip, toneOfStop } from '../ui/chip.tsx';
import { useFew } from '../ui/few.tsx';
import { useWords } from '../words/words.tsx';

const refreshMs = 60_000;
const dayMs = 86_400_000;

export function DayFigures() {
  const { say, count, cost } = useWords();
  const { data } = useQuery({
    queryKey: ['figures'],
    queryFn: ({ signal }) => fetchFigures(new Date(Date.now() - dayMs), signal),
    refetchInterval: refreshMs,
    retry: false,
  });
  if (!data || data.items.length === 0) return null;
  return (
    <section className="card recent">
      <h2>{say('figures.day')}</h2>
      <div className="day-charts">
        <HourChart title={say('nav.runs')} figures={data} valueOf={({ runs }) => runs} totalText={count} />
        <HourChart title={say('health.failing')} figures={data} valueOf={faultsOf} totalText={count} />
        <HourChart
          title={say('col.cost')}
          figures={data}
          valueOf={({ cost: ofHour }) => Number(ofHour.amount)}
          totalText={(sum) => cost({ amount: String(sum) })}
        />
      </div>
      {data.tools.length > 0 && <ToolTable tools={byTool(data.tools)} />}
    </section>
  );
}

function faultsOf({ stopReasons }: HourOfRuns): number {
  return Object.entries(stopReasons).reduce(
    (sum, [reason, runs]) => (toneOfStop(reason) === 'bad' ? sum + runs : sum),
    0,
  );
}

type HourChartProps = {
  title: string;
  figures: Figures;
  valueOf(hour: HourOfRuns): number;
  /** What all hours come to. */
  totalText(sum: number): string;
};

function HourChart({ title, figures, valueOf, totalText }: HourChartProps) {
  const { say, minute } = useWords();
  const points = byHour(figures, valueOf).map(({ at, value }) => ({
    label: minute(at),
    value,
    text: String(Number(value.toPrecision(12))),
  }));
  const total = points.reduce((sum, { value }) => sum + value, 0);
  return (
    <figure>
      <figcaption>
        <span className="quiet small">{title}</span> <strong>{totalText(total)}</strong>
      </figcaption>
      <SeriesChart chart={{ kind: 'series', column: title, by: say('figures.hour'), points }} />
    </figure>
  );
}

function ToolTable({ tools }: { tools: ToolFigures[] }) {
  const { say, count, duration, percent } = useWords();
  const { shown, more } = useFew(tools);
  const heads = [say('col.toolCalls'), say('figures.failed'), say('figures.denied'), say('figures.slowest')];
  return (
    <>
      <div className="scroll" tabIndex={0} role="group" aria-label={say('health.act')}>
        <table>
          <thead>
            <tr>
              <th scope="col">{say('filter.tool')}</th>
              {heads.map((head) => (
                <th key={head} scope="col" className="number">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map(({ tool, calls, failures, denied, p95Ms }) => (
              <tr key={tool}>
                <th scope="row" dir="auto">
                  {visibleText(tool)}
                </th>
                <td className="number">{count(calls)}</td>
                <td className="number">{failures === 0 ? '0' : <Chip tone="bad">{percent(failures / calls)}</Chip>}</td>
                <td className="number">{count(denied)}</td>
                <td className="number">{duration(p95Ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more}
    </>
  );
}
