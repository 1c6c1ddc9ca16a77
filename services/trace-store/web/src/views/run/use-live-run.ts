/**
 * One run as it stands and as it goes on: its trace, the facts that the event stream has brought since, the words that are
 * being said right now, and how the orchestrator sees it.
 *
 * 1. The stream is followed from the last record on and picked up where it broke: no gap, no repeat.
 * 2. Where the stream is not to be had (another key, an old orchestrator), the trace is asked for again and again instead.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Fact } from '@pawl/contracts';
import { ApiError } from '../../api/request.ts';
import { fetchRun, followEvents, type ShownRun } from '../../api/runs.ts';
import { fetchTrace } from '../../api/traces.ts';
import { withLiveFacts, type Trace, type TraceRecord } from '../../record/trace.ts';
import { useBodies, withBodies } from './use-bodies.ts';

type LiveFact = { seq: number; fact: Fact };
export type Connection = 'off' | 'live' | 'broken' | 'polling';

export type LiveRun = {
  trace: Trace | undefined;
  /** How the orchestrator sees it; undefined when the run has ended or the key may not ask. */
  view: ShownRun | undefined;
  /** What the model is saying right now. */
  speaking: string;
  connection: Connection;
  error: unknown;
  /** Loads the body of a record that was too large to come with the run. */
  loadBody(record: TraceRecord): Promise<void>;
  refresh(): void;
};

const pollEveryMs = 2_000;
const viewEveryMs = 4_000;
const noTries = new Set([401, 403]);

export function useLiveRun(runId: string): LiveRun {
  const client = useQueryClient();
  const [isPolling, setPolling] = useState(false);
  const stored = useQuery({
    queryKey: ['trace', runId],
    queryFn: ({ signal }) => fetchTrace(runId, signal),
    // A run that has just begun may not have been stored yet.
    retry: (count, error) => count < 5 && !(error instanceof ApiError && noTries.has(error.status)),
    retryDelay: 300,
    refetchInterval: ({ state }) => (isPolling && state.data?.run.status !== 'ended' ? pollEveryMs : false),
  });
  const [bodies, loadBody] = useBodies();
  const { facts, speaking, connection } = useEvents(runId, stored.data, { onRefused: () => setPolling(true) });
  const trace = useMemo(
    () => stored.data && withBodies(withLiveFacts(stored.data, facts), bodies),
    [stored.data, facts, bodies],
  );
  const isOver = trace === undefined || trace.run.status === 'ended';
  const view = useQuery({
    queryKey: ['run', runId],
    queryFn: ({ signal }) => fetchRun(runId, signal),
    enabled: !isOver,
    refetchInterval: viewEveryMs,
    retry: false,
  });
  const count = facts.length;
  useEffect(() => {
    if (count > 0) void client.invalidateQueries({ queryKey: ['run', runId] });
  }, [client, count, runId]);
  const refresh = useCallback(() => {
    void client.invalidateQueries({ queryKey: ['run', runId] });
    void client.invalidateQueries({ queryKey: ['trace', runId] });
  }, [client, runId]);
  return {
    trace,
    view: isOver ? undefined : view.data,
    speaking,
    connection: isPolling ? 'polling' : connection,
    error: stored.data ? undefined : stored.error,
    loadBody,
    refresh,
  };
}

type Events = { facts: LiveFact[]; speaking: string; connection: Connection };

function useEvents(runId: string, stored: Trace | undefined, { onRefused }: { onRefused(): void }): Events {
  const [facts, setFacts] = useState<LiveFact[]>([]);
  const [speaking, setSpeaking] = useState('');
  const [connection, setConnection] = useState<Connection>('off');
  const refused = useRef(onRefused);
  refused.current = onRefused;
  const isGoing = stored !== undefined && stored.run.status !== 'ended';
  const startSeq = useRef(0);
  if (stored) startSeq.current = Math.max(startSeq.current, ...stored.records.slice(-200).map(({ seq }) => seq));
  useEffect(() => {
    if (!isGoing) return undefined;
    const stop = new AbortController();
    let lastSeq = startSeq.current;
    let waiting: LiveFact[] = [];
    let words = '';
    let isDrawn = true;
    const draw = () => {
      isDrawn = true;
      const added = waiting;
      waiting = [];
      if (added.length > 0) setFacts((known) => [...known, ...added]);
      setSpeaking(words);
    };
    const drawSoon = () => {
      if (isDrawn) setTimeout(draw, 50);
      isDrawn = false;
    };
    const follow = () =>
      followEvents(
        runId,
        { afterSeq: lastSeq, signal: stop.signal },
        {
          onFact(fact, seq) {
            lastSeq = Math.max(lastSeq, seq);
            if (fact.kind === 'thought') words = '';
            waiting.push({ seq, fact });
            setConnection('live');
            drawSoon();
          },
          onDelta({ text }) {
            words += text;
            setConnection('live');
            drawSoon();
          },
        },
      );
    void followUntil(stop.signal, follow, setConnection).catch(() => refused.current());
    return () => stop.abort();
  }, [runId, isGoing]);
  return { facts, speaking, connection };
}

/** Follows again and again until told to stop. Throws when the service refuses for good. */
async function followUntil(
  signal: AbortSignal,
  follow: () => Promise<void>,
  tell: (connection: Connection) => void,
): Promise<void> {
  for (let pauseMs = 500; !signal.aborted; pauseMs = Math.min(pauseMs * 2, 8_000)) {
    try {
      await follow();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error;
      tell('broken');
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
