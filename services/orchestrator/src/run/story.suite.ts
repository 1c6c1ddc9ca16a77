/** Building blocks of run stories for tests: facts as the other services would write them. */
import { fingerprintJson } from '@pawl/contracts';
import type {
  AgentSpec,
  Approval,
  Definition,
  Fact,
  Observation,
  Observed,
  SettledLimits,
  Started,
  Thought,
  Tool,
  ToolCall,
  ToolSpec,
} from '@pawl/contracts';
import { evolve, startOf, type RunState } from './state.ts';
import { defaultLimits } from './limits.ts';

export const startMs = Date.parse('2026-03-02T09:00:00.000Z');
const runId = `run_${'0'.repeat(31)}1`;
const hash = 'a'.repeat(64);

export function at(offsetMs: number): string {
  return new Date(startMs + offsetMs).toISOString();
}

type SampleTool = { name: string } & Partial<ToolSpec>;

/** A definition with these tools; each is a read over HTTP unless it says otherwise. */
export function definitionWith(tools: SampleTool[], spec: Partial<AgentSpec> = {}): Definition {
  return {
    v: 1,
    agent: {
      revision: hash,
      object: {
        apiVersion: 'pawl.dev/v1',
        kind: 'Agent',
        metadata: { app: 'demo', name: 'analyst' },
        spec: { instructions: 'Be brief.', models: { think: 'smart' }, tools: tools.map(({ name }) => name), ...spec },
      },
    },
    tools: tools.map(({ name, ...rest }) => ({ revision: hash, object: toolWith(name, rest) })),
  };
}

function toolWith(name: string, rest: Partial<ToolSpec>): Tool {
  const isOtherKind =
    rest.builtin !== undefined || rest.agent !== undefined || rest.skill !== undefined || rest.mcp !== undefined;
  const http = isOtherKind ? {} : { http: { method: 'GET' as const, url: 'http://localhost/' } };
  const spec = { description: `The tool ${name}.`, ...http, ...rest };
  return { apiVersion: 'pawl.dev/v1', kind: 'Tool', metadata: { app: 'demo', name }, spec };
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
  return { ...word(offsetMs), kind: 'cancel', reason: 'changed my mind' };
}

export function signalled(id: string, text: string, offsetMs = 0): Fact {
  return { ...word(offsetMs), kind: 'signal', id, text };
}

/** A person's decision on call i of thought m. */
export function decided(
  m: number,
  i: number,
  of: { decision: Approval['decision']; args?: string; reason?: string; offsetMs?: number },
): Approval {
  const { offsetMs = 0, ...rest } = of;
  const argsHash = rest.args === undefined ? hash : fingerprintJson(rest.args);
  return { ...word(offsetMs), kind: 'approval', m, i, callId: `call_${m}_${i}`, toolRevision: hash, argsHash, ...rest };
}

export function resumed(k: number, limits: Partial<SettledLimits>, offsetMs: number): Fact {
  const settled = { ...defaultLimits, ...limits };
  return { ...word(offsetMs), kind: 'resumed', k, limits: settled, deadlineAt: at(offsetMs + settled.wallClockMs) };
}

function word(offsetMs: number) {
  return { v: 1 as const, runId, app: 'demo', at: at(offsetMs), by: 'key k1' };
}

/** The state after a story that begins with `started`. */
export function stateOf(first: Started, ...facts: Fact[]): RunState {
  return facts.reduce<RunState>((state, fact) => evolve(state, fact) ?? state, startOf(first));
}
