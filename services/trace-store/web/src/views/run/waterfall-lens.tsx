/** A run as spans on one time line, with what each cost. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import { costOfNano, visibleText } from '../../record/format.ts';
import type { Story } from '../../record/story.ts';
import { waterfallOf, type Bar, type Segment, type SegmentKind } from '../../record/waterfall.ts';
import { addressWith, Link } from '../../router.tsx';
import { Chip, toneOfObservation } from '../../ui/chip.tsx';
import { useNow } from '../../ui/use-now.ts';
import { useWords } from '../../words/words.tsx';

const rowHeight = 40;
const drawnWholeMax = 200;
const kinds: SegmentKind[] = ['queue', 'firstToken', 'stream', 'tool', 'person', 'other'];

export function WaterfallLens({ story, isLive }: { story: Story; isLive: boolean }) {
  const { say } = useWords();
  const nowMs = useNow(isLive);
  const { bars, totalMs } = useMemo(() => waterfallOf(story, nowMs), [story, nowMs]);
  if (bars.length === 0) return <p className="quiet centred">{say('waterfall.none')}</p>;
  return (
    <section className="waterfall" aria-label={say('waterfall.caption')}>
      <Legend bars={bars} />
      <Axis totalMs={totalMs} />
      {bars.length > drawnWholeMax ? (
        <VirtualRows bars={bars} totalMs={totalMs} />
      ) : (
        <ol className="spans">
          {bars.map((bar) => (
            <li key={`${bar.kind} ${bar.slot}`}>
              <Row bar={bar} totalMs={totalMs} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Legend({ bars }: { bars: Bar[] }) {
  const { say, duration } = useWords();
  const sums = new Map<SegmentKind, number>();
  for (const { segments } of bars) {
    for (const { kind, fromMs, toMs } of segments) sums.set(kind, (sums.get(kind) ?? 0) + toMs - fromMs);
  }
  return (
    <ul className="legend">
      {kinds
        .filter((kind) => sums.has(kind))
        .map((kind) => (
          <li key={kind}>
            <span className={`swatch ${kind}`} aria-hidden="true" />
            {say(`waterfall.${kind}`)} <span className="quiet">{duration(sums.get(kind))}</span>
          </li>
        ))}
      <li>
        <span className="swatch critical" aria-hidden="true" />
        {say('waterfall.critical')}
      </li>
    </ul>
  );
}

function Axis({ totalMs }: { totalMs: number }) {
  const { duration } = useWords();
  return (
    <div className="axis" aria-hidden="true">
      <span />
      <span className="ticks">
        {[0, 0.25, 0.5, 0.75, 1].map((part) => (
          <span key={part}>{part === 0 ? '0' : duration(totalMs * part)}</span>
        ))}
      </span>
      <span />
    </div>
  );
}

function VirtualRows({ bars, totalMs }: { bars: Bar[]; totalMs: number }) {
  const list = useRef<HTMLOListElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(list.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: bars.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: margin,
  });
  return (
    <ol className="spans virtual" ref={list} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const bar = bars[item.index];
        return (
          bar && (
            <li
              key={item.key}
              aria-setsize={bars.length}
              aria-posinset={item.index + 1}
              style={{ transform: `translateY(${item.start - margin}px)` }}
            >
              <Row bar={bar} totalMs={totalMs} />
            </li>
          )
        );
      })}
    </ol>
  );
}

function Row({ bar, totalMs }: { bar: Bar; totalMs: number }) {
  const { say, wordFor, count, cost } = useWords();
  const query = new URLSearchParams(location.search);
  const name =
    bar.kind === 'thought'
      ? wordFor('purpose', bar.purpose ?? 'think')
      : visibleText(bar.name ?? bar.tool ?? say('call.unknownTool'));
  return (
    <div className={`span-row ${bar.kind}${bar.isCritical ? ' critical' : ''}`}>
      <span className="span-name">
        {bar.kind === 'thought' && bar.step !== null && <span className="quiet">{bar.step}</span>}
        {bar.m === undefined ? (
          <span className="name" title={name}>
            {name}
          </span>
        ) : (
          <Link to={addressWith(query, { lens: 'cards', at: String(bar.m) })} title={bar.model}>
            {name}
          </Link>
        )}
        {bar.isOrphan && <Chip tone="warn">{say('span.orphan')}</Chip>}
        {bar.state === 'lost' && <Chip tone="warn">{say('lost.missing')}</Chip>}
        {bar.status !== undefined && toneOfObservation(bar.status) !== 'good' && bar.kind !== 'thought' && (
          <Chip tone={toneOfObservation(bar.status)}>{wordFor('observation', bar.status)}</Chip>
        )}
      </span>
      <Track bar={bar} totalMs={totalMs} />
      <span className="span-figures">
        {bar.costNanoUsd !== undefined && <span>{cost(costOfNano(bar.costNanoUsd))}</span>}
        {bar.tokens && <span className="quiet">{count(bar.tokens.input + bar.tokens.output)}</span>}
      </span>
    </div>
  );
}

function Track({ bar, totalMs }: { bar: Bar; totalMs: number }) {
  const { say, duration } = useWords();
  const label = bar.segments
    .map(({ kind, fromMs, toMs }) => `${say(`waterfall.${kind}`)} ${duration(toMs - fromMs)}`)
    .join(', ');
  const ownMs = bar.segments.reduce((sum, { kind, fromMs, toMs }) => (kind === 'queue' ? sum : sum + toMs - fromMs), 0);
  const endShare = (bar.segments.at(-1)?.toMs ?? 0) / totalMs;
  return (
    <span className="track" role="img" aria-label={label || say('lost.missing')}>
      {bar.segments.map((segment) => (
        <SegmentBar
          key={`${segment.kind}${segment.fromMs}`}
          segment={segment}
          totalMs={totalMs}
          isOpen={bar.state !== 'done'}
        />
      ))}
      {bar.segments.length > 0 && (
        <span
          className="track-time"
          style={
            endShare > 0.8
              ? { right: `${100 - share(bar.segments[0]?.fromMs ?? 0, totalMs)}%` }
              : { left: `${endShare * 100}%` }
          }
        >
          {duration(ownMs)}
        </span>
      )}
    </span>
  );
}

function SegmentBar({ segment, totalMs, isOpen }: { segment: Segment; totalMs: number; isOpen: boolean }) {
  const { kind, fromMs, toMs } = segment;
  return (
    <span
      className={`segment ${kind}${isOpen ? ' open' : ''}`}
      style={{ left: `${share(fromMs, totalMs)}%`, width: `${share(toMs - fromMs, totalMs)}%` }}
    />
  );
}

function share(ms: number, totalMs: number): number {
  return Math.min(100, (ms / totalMs) * 100);
}
