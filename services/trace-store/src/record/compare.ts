/**
 * Two runs beside each other, step by step. Pure.
 * Steps are aligned by their number: where a fork left its origin, its own step n stands beside the origin's step n, and
 * the steps before are what it took over.
 */
import { slotOf, startedSchema } from '@pawl/contracts';
import { z } from 'zod';
import { recordOf } from './record.ts';
import { inStoryOrder, stepsByThought, type StoryRecord } from './story.ts';

const callSchema = z.object({
  callId: z.string().nullable(),
  tool: z.string(),
  args: z.string().describe('JSON text'),
  status: z.string().nullable().describe('null while there is no result'),
  result: z.string().nullable().describe('JSON text of what came back, or a sentence'),
  durationMs: z.number().nullable(),
});

export const sideSchema = z.object({
  thoughts: z.array(
    z.object({ m: z.number(), purpose: z.string().nullable(), text: z.string(), model: z.string().nullable() }),
  ),
  calls: z.array(callSchema),
  tokens: z.number(),
  costNanoUsd: z.string(),
  isTakenOver: z.boolean().describe('taken over from the run that this one is a fork of; neither paid nor done again'),
});
export type Side = z.infer<typeof sideSchema>;

export const comparedStepSchema = z.object({
  step: z.number().describe('0: before the first step'),
  a: sideSchema.nullable(),
  b: sideSchema.nullable(),
  differs: z.array(z.enum(['missing', 'thoughts', 'calls', 'results'])).describe('empty where both did the same'),
});
export type ComparedStep = z.infer<typeof comparedStepSchema>;

/** A record with its body, the JSON text of a fact. */
export type ComparedRecord = StoryRecord & {
  body: string | null;
  callId: string | null;
  tool: string | null;
  durationMs: number;
  model: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  costNanoUsd: string | null;
};

/** The steps of both, in order. */
export function compareRuns(a: readonly ComparedRecord[], b: readonly ComparedRecord[]): ComparedStep[] {
  const [left, right] = [sidesOf(a), sidesOf(b)];
  const steps = [...new Set([...left.keys(), ...right.keys()])].toSorted((one, other) => one - other);
  return steps.map((step) => {
    const sides = { a: left.get(step) ?? null, b: right.get(step) ?? null };
    return { step, ...sides, differs: differencesOf(sides.a, sides.b) };
  });
}

function differencesOf(a: Side | null, b: Side | null): ComparedStep['differs'] {
  if (!a || !b) return ['missing'];
  const differs: ComparedStep['differs'] = [];
  const isSame = (pick: (side: Side) => unknown) => JSON.stringify(pick(a)) === JSON.stringify(pick(b));
  if (!isSame(({ thoughts }) => thoughts.map(({ purpose, text }) => [purpose, text]))) differs.push('thoughts');
  if (!isSame(({ calls }) => calls.map(({ tool, args }) => [tool, canonical(args)]))) differs.push('calls');
  if (!isSame(({ calls }) => calls.map(({ status, result }) => [status, result]))) differs.push('results');
  return differs;
}

/** Arguments in one form, so that the order of keys makes no difference. */
function canonical(args: string): string {
  try {
    return JSON.stringify(JSON.parse(args), (_key, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1)))
        : value,
    );
  } catch {
    return args;
  }
}

function sidesOf(own: readonly ComparedRecord[]): Map<number, Side> {
  const takenOver = seedOf(own);
  const sides = new Map<number, Side>();
  const all = [...takenOver, ...own];
  const steps = stepsByThought(
    all.map((record) => (record.kind === 'started' ? { ...record, seededSteps: null } : record)),
  );
  for (const record of inStoryOrder(all)) {
    if (record.m === null) continue;
    const step = steps.get(record.m) ?? 0;
    const side = sides.get(step) ?? emptySide(takenOver.some(({ m }) => m === record.m));
    addTo(side, record);
    sides.set(step, side);
  }
  return sides;
}

/** The facts that a fork took over, as records. */
function seedOf(records: readonly ComparedRecord[]): ComparedRecord[] {
  const body = records.find(({ kind }) => kind === 'started')?.body;
  const started = body ? startedSchema.safeParse(JSON.parse(body)).data : undefined;
  return (started?.seed ?? []).map((fact) =>
    recordOf({
      fact,
      text: JSON.stringify(fact),
      slot: slotOf(fact),
      sequence: 0,
      trace: undefined,
      isRedacted: false,
    }),
  );
}

function emptySide(isTakenOver: boolean): Side {
  return { thoughts: [], calls: [], tokens: 0, costNanoUsd: '0', isTakenOver };
}

const thoughtBody = z.object({ text: z.string() });
const actedBody = z.object({
  calls: z.array(z.object({ i: z.number(), callId: z.string(), tool: z.string(), args: z.string() })),
});
const observedBody = z.object({
  observation: z.object({ data: z.string().nullable(), message: z.string().nullable() }),
});

function addTo(side: Side, record: ComparedRecord): void {
  const body: unknown = record.body === null ? {} : JSON.parse(record.body);
  if (record.kind === 'thought') {
    const text = thoughtBody.safeParse(body).data?.text ?? '';
    side.thoughts.push({ m: record.m ?? 0, purpose: record.purpose, text, model: record.model });
    side.tokens += (record.inputTokens ?? 0) + (record.outputTokens ?? 0);
    side.costNanoUsd = (BigInt(side.costNanoUsd) + BigInt(record.costNanoUsd ?? 0)).toString();
  } else if (record.kind === 'acted') {
    for (const { callId, tool, args } of actedBody.safeParse(body).data?.calls ?? []) {
      side.calls.push({ callId, tool, args, status: null, result: null, durationMs: null });
    }
  } else if (record.kind === 'observed') {
    const { data = null, message = null } = observedBody.safeParse(body).data?.observation ?? {};
    const call = side.calls.find(({ callId }) => callId === record.callId);
    const result = { status: record.status, result: data ?? message, durationMs: record.durationMs };
    if (call) Object.assign(call, result);
    else side.calls.push({ callId: record.callId, tool: record.tool ?? '', args: '', ...result });
  }
}
