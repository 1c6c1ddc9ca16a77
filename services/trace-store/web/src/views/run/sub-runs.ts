/** Runs that answer calls of the run that is shown: an agent used as a tool has a run of its own. */
import { useQuery } from '@tanstack/react-query';
import { createContext, useMemo } from 'react';
import { fetchRuns } from '../../api/traces.ts';
import type { Story } from '../../record/story.ts';
import type { TracedRun } from '../../record/trace.ts';

const refreshMs = 3_000;
const runsMax = 200;

/** By the id of the call that each answers. */
export const SubRuns = createContext<ReadonlyMap<string, TracedRun>>(new Map());

export function useSubRuns(runId: string, { turns }: Story, isGoing: boolean): ReadonlyMap<string, TracedRun> {
  const hasSome = turns.some(({ calls }) => calls.some(({ admission }) => admission === 'subrun'));
  const { data } = useQuery({
    queryKey: ['sub-runs', runId],
    queryFn: ({ signal }) => fetchRuns({ parent: runId, limit: String(runsMax) }, null, signal),
    enabled: hasSome,
    refetchInterval: isGoing ? refreshMs : false,
  });
  return useMemo(() => new Map(data?.items.map((run) => [run.parent?.callId ?? '', run])), [data]);
}
