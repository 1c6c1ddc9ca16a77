/** Building blocks of run stories for tests: facts as the other services would write them. */
import type {
  Definition,
  Fact,
  Observation,
  Observed,
  SettledLimits,
  Started,
  Thought,
  ToolCall,
} from '@pawl/contracts';
import { evolve, type RunState } from './state.ts';
import { defaultLimits } from './limits.ts';

export const startMs = Date.parse('2026-03-02T09:00:00.000Z');
const runId = `run_${'0'.repeat(31)}1`;
const hash = 'a'.repeat(64);

export function at(offsetMs: number): string {
  return new Date(startMs + offsetMs).toISOString();
}

export function definitionWith(tools: { name: string; roles?: string[] }[]): Definition {
  return {
    v: 1,
    agent: {
      revision: hash,
      object: {
        apiVersion: 'pawl.dev/v1',
        kind: 'Agent',
        metadata: { app: 'demo', name: 'analyst' },
        spec: { instructions: 'Be brief.', models: { think: 'smart' }, tools: tools.map(({ name }) => name) },
      },
    },
    tools: tools.map(({ name, roles }) => ({
      revision: hash,
      object: {
        apiVersion: 'pawl.dev/v1',
        kind: 'Tool',
        metadata: { app: 'demo', name },
        spec: { description: `The tool ${name}.`, http: { method: 'GET', url: 'http://localhost/' }, ...(roles ? { roles } : {}) },
      },
    })),
  };
}

export function started(limits: Partial<SettledLimits> = {}, rest: Partial<Started> = {}): Started {
  const settled = { ...defaultLimits, ...limits };
  return {
    v: 1,
    kind: 'started',
    runId,
    app: 'demo',
    at: at(0),
    agent: { name: 'analyst', revision: hash },
    definition: hash,
    input: 'Why?',
    lane: 'interactive',
    limits: settled,
    deadlineAt: at(settled.wallClockMs),
    traceId: 'b'.repeat(32),
    ...rest,
  };
}

export function thought(m: number, of: Partial<Thought> & { calls?: ToolCall[] } = {}): Thought {
  return {
    v: 1,
    kind: 'thought',
    runId,
    app: 'demo',
    at: at(m * 100),
    m,
    purpose: 'think',
    outcome: 'reply',
    text: '',
    calls: [],
    usage: { inputTokens: 100, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 20, reasoningTokens: 0 },
    costNanoUsd: '1000',
    costBasis: 'measured',
    startedAt: at(m * 100),
    durationMs: 20,
    ...of,
  };
}

export function call(tool: string, args: object | string = {}): ToolCall {
  return { id: 'x', tool, args: typeof args === 'string' ? args : JSON.stringify(args) };
}

export function observed(m: number, i: number, of: Partial<Observation> = {}): Observed {
  return {
    v: 1,
    kind: 'observed',
    runId,
    app: 'demo',
    at: at(m * 100 + 50),
    m,
    i,
    callId: `call_${m}_${i}`,
    tool: 'search',
    trust: 'untrusted',
    observation: {
      status: 'ok',
      data: '{"found":1}',
      errorCode: null,
      message: null,
      suggestion: null,
      truncated: false,
      ref: null,
      ...of,
    },
    attempt: 1,
    startedAt: at(m * 100),
    durationMs: 20,
  };
}

export function cancelled(offsetMs: number): Fact {
  return { v: 1, kind: 'cancel', runId, app: 'demo', at: at(offsetMs), by: 'key k1', reason: 'changed my mind' };
}

/** The state after a story that begins with `started`. */
export function stateOf(first: Started, ...facts: Fact[]): RunState {
  return facts.reduce<RunState>((state, fact) => evolve(state, fact) ?? state, { started: first, turns: [] });
}
