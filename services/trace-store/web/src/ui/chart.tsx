/** Small charts, drawn by hand. Each says in words what it shows; the numbers stand beside it in any case. */
import type { Chart, ChartPoint } from '../record/table.ts';
import { readableName } from '../record/format.ts';
import { useWords } from '../words/words.tsx';

const width = 420;
const height = 92;
const labelHeight = 18;

type Series = Extract<Chart, { kind: 'series' }>;

/** Values in time, as columns from zero. */
export function SeriesChart({ chart }: { chart: Series }) {
  const { say, digits } = useWords();
  const { points } = chart;
  const [first] = points;
  const last = points.at(-1);
  if (!first || !last) return null;
  const byValue = points.toSorted((left, right) => left.value - right.value);
  const label = say('chart.series', {
    column: readableName(chart.column),
    by: readableName(chart.by),
    from: first.label,
    to: last.label,
    first: digits(first.text),
    last: digits(last.text),
    low: digits(byValue[0]?.text ?? ''),
    high: digits(byValue.at(-1)?.text ?? ''),
  });
  const span = width / points.length;
  const columnWidth = Math.min(span * 0.72, 60);
  const scale = scaleOf(points, height - labelHeight * 2);
  return (
    <svg className="series" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {points.map((point, at) => {
        const { top, size } = scale(point.value);
        const isLast = at === points.length - 1;
        return (
          <rect
            key={point.label}
            className={isLast ? 'column last' : 'column'}
            x={span * (at + 0.5) - columnWidth / 2}
            y={top + labelHeight}
            width={columnWidth}
            height={Math.max(1, size)}
            rx="2"
          />
        );
      })}
      <text x={span * 0.5} y={height - 4} textAnchor={points.length > 12 ? 'start' : 'middle'}>
        {first.label}
      </text>
      <text x={width - span * 0.5} y={height - 4} textAnchor={points.length > 12 ? 'end' : 'middle'}>
        {last.label}
      </text>
      <EndValues points={points} span={span} />
    </svg>
  );
}

type Scale = (value: number) => { top: number; size: number };

/** The first and the last value, in the line above the columns. */
function EndValues({ points, span }: { points: readonly ChartPoint[]; span: number }) {
  const { short } = useWords();
  const isDense = points.length > 12;
  return [points[0], points.at(-1)].map(
    (point, at) =>
      point && (
        <text
          key={point.label}
          className="value"
          x={at === 0 ? span * 0.5 : width - span * 0.5}
          y={labelHeight - 6}
          textAnchor={isDense ? (at === 0 ? 'start' : 'end') : 'middle'}
        >
          {short(point.value)}
        </text>
      ),
  );
}

function scaleOf(points: readonly ChartPoint[], space: number): Scale {
  const high = Math.max(0, ...points.map(({ value }) => value));
  const low = Math.min(0, ...points.map(({ value }) => value));
  // Where all are zero, they stand on the ground.
  const top = high === low ? 1 : high;
  const perUnit = space / (top - low);
  return (value) => ({ top: (top - Math.max(0, value)) * perUnit, size: Math.abs(value) * perUnit });
}

const barWidth = 64;

/** A bar beside a number of a table, from zero, to the left for less. */
export function ValueBar({ values, at }: { values: readonly number[]; at: number }) {
  const high = Math.max(0, ...values);
  const low = Math.min(0, ...values);
  const perUnit = barWidth / (high - low || 1);
  const value = values[at] ?? 0;
  const zero = -low * perUnit;
  const size = Math.max(1, Math.abs(value) * perUnit);
  return (
    <svg className="value-bar" viewBox={`0 0 ${barWidth} 12`} preserveAspectRatio="none" aria-hidden="true">
      <rect
        className={value < 0 ? 'less' : 'more'}
        x={value < 0 ? zero - size : zero}
        y="1"
        width={size}
        height="10"
        rx="2"
      />
      <line x1={zero} x2={zero} y1="0" y2="12" />
    </svg>
  );
}
