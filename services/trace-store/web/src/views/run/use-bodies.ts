/** Bodies of records that were too large to come with their run, loaded one by one. */
import { useCallback, useRef, useState } from 'react';
import type { Fact } from '@pawl/contracts';
import { fetchBodyText } from '../../api/traces.ts';
import type { Trace, TraceRecord } from '../../record/trace.ts';

export type LoadBody = (record: TraceRecord) => Promise<void>;

/** The bodies that have been loaded, by slot, and what loads another one. Throws ApiError. */
export function useBodies(): [ReadonlyMap<string, Fact>, LoadBody] {
  const [bodies, setBodies] = useState<ReadonlyMap<string, Fact>>(new Map());
  const asked = useRef(new Set<string>());
  const arrived = useRef(new Map<string, Fact>());
  const load = useCallback(async ({ slot, bodyRef }: TraceRecord) => {
    if (bodyRef === undefined || asked.current.has(slot)) return;
    asked.current.add(slot);
    try {
      arrived.current.set(slot, JSON.parse(await fetchBodyText(bodyRef)) as Fact);
      // Those that come at almost the same time are put in together.
      setTimeout(() => {
        const batch = [...arrived.current];
        arrived.current.clear();
        if (batch.length > 0) setBodies((known) => new Map([...known, ...batch]));
      }, 60);
    } catch (error) {
      asked.current.delete(slot);
      throw error;
    }
  }, []);
  return [bodies, load];
}

/** A trace with bodies that were loaded. */
export function withBodies(trace: Trace, bodies: ReadonlyMap<string, Fact>): Trace {
  if (bodies.size === 0) return trace;
  const records = trace.records.map((record) => {
    const body = record.body ?? bodies.get(record.slot);
    return body ? { ...record, body } : record;
  });
  return { ...trace, records };
}
