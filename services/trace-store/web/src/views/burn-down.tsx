/** How what is left of a budget went down in its window, drawn, with the time at which it will be gone in words. */
import { useQuery } from '@tanstack/react-query';
import { fetchSpentOf, sizeOf, type Budget } from '../api/budgets.ts';
import { burnDownOf, type BurnDown as Curve } from '../record/burn-down.ts';
import { useWords } from '../words/words.tsx';

const refreshMs = 30_000;
const width = 420;
const height = 110;
const labelHeight = 20;

export function BurnDown({ budget }: { budget: Budget }) {
  const { say, minute } = useWords();
  const { name, spec, state } = budget;
  // The books know no keys, and calls at once are not spent.
  const hasWindow = spec.window !== 'minute' && !('concurrent' in state.limit) && spec.scope.key === undefined;
  const { data, dataUpdatedAt } = useQuery({
    queryKey: ['burn-down', name, state.window.from],
    queryFn: ({ signal }) => fetchSpentOf(budget, signal),
    refetchInterval: refreshMs,
    enabled: hasWindow,
  });
  const curve = data && burnDownOf({ ...data, limit: sizeOf(state.limit), window: state.window, nowMs: dataUpdatedAt });
  if (!curve) return null;
  const isGone = (curve.points.at(-1)?.left ?? 0) <= 0;
  const outlook =
    curve.goneAtMs === undefined
      ? say(isGone ? 'budget.gone' : 'budget.lasts')
      : say('budget.goneAt', { time: minute(new Date(curve.goneAtMs).toISOString()) });
  return (
    <figure className="burn-down" data-tone={isGone ? 'bad' : curve.goneAtMs === undefined ? 'good' : 'warn'}>
      <CurveDrawing curve={curve} limit={sizeOf(state.limit)} label={`${say('budget.burnDown')}: ${outlook}`} />
      <figcaption>{outlook}</figcaption>
    </figure>
  );
}

function CurveDrawing({ curve, limit, label }: { curve: Curve; limit: number; label: string }) {
  const { minute } = useWords();
  const { fromMs, toMs, points, goneAtMs } = curve;
  const bottom = height - labelHeight;
  const x = (atMs: number) => ((atMs - fromMs) / Math.max(1, toMs - fromMs)) * width;
  const y = (left: number) => 2 + (1 - Math.max(0, left) / limit) * (bottom - 2);
  const last = points.at(-1) ?? { atMs: fromMs, left: limit };
  // Nothing is known of how it went within an hour or a day: the line is a staircase.
  const line = points.map(({ atMs, left }, at) => `${at === 0 ? 'M' : 'H'}${x(atMs)}${at === 0 ? ',' : 'V'}${y(left)}`);
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <line className="even" x1="0" y1={y(limit)} x2={width} y2={bottom} />
      <path className="area" d={`${line.join('')}V${bottom}H0Z`} />
      <path className="line" d={line.join('')} />
      {goneAtMs !== undefined && (
        <line className="pace" x1={x(last.atMs)} y1={y(last.left)} x2={x(goneAtMs)} y2={bottom} />
      )}
      <line className="ground" x1="0" y1={bottom} x2={width} y2={bottom} />
      <circle cx={x(last.atMs)} cy={y(last.left)} r="4" />
      <text x="0" y={height - 4}>
        {minute(new Date(fromMs).toISOString())}
      </text>
      <text x={width} y={height - 4} textAnchor="end">
        {minute(new Date(toMs).toISOString())}
      </text>
    </svg>
  );
}
