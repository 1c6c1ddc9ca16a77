/** Facts and work for tests of the bus. Imported by tests only. */
import { randomBytes } from 'node:crypto';
import type { ActWork, Fact, ThinkWork } from '@pawl/contracts';

export function newRunId(): string {
  return `run_${randomBytes(16).toString('hex')}`;
}

/** The smallest fact that has as many slots as one likes: a signal. */
export function signalFact(of: { runId: string; id: string; text?: string; app?: string }): Fact {
  return {
    v: 1,
    kind: 'signal',
    runId: of.runId,
    app: of.app ?? 'demo',
    at: '2026-11-30T10:00:00.000Z',
    id: of.id,
    text: of.text ?? '',
    by: 'test',
  };
}

export function actWork(of: { runId: string; i: number; app?: string; args?: string }): ActWork {
  return {
    v: 1,
    kind: 'act',
    runId: of.runId,
    app: of.app ?? 'demo',
    m: 0,
    i: of.i,
    step: 1,
    callId: `call_${of.i}`,
    pool: 'default',
    tool: 'look',
    toolRevision: 'a'.repeat(64),
    definition: 'b'.repeat(64),
    args: of.args ?? '{}',
    argsHash: 'c'.repeat(64),
    maxChars: 2_000,
    deadlineAt: '2026-11-30T10:02:00.000Z',
  };
}

export function thinkWork(of: { runId: string; m: number; content?: string }): ThinkWork {
  return {
    v: 1,
    kind: 'think',
    runId: of.runId,
    app: 'demo',
    m: of.m,
    agent: 'analyst',
    purpose: 'think',
    lane: 'interactive',
    route: 'smart',
    messages: [{ role: 'user', content: of.content ?? 'why?' }],
    tools: [],
    maxOutputTokens: 100,
    runSpendLimitNanoUsd: '1',
    deadlineAt: '2026-11-30T10:02:00.000Z',
  };
}

/** Apps that a test adds to. */
export function createApps(...names: string[]) {
  const apps = new Set(names);
  const listeners = new Set<() => void>();
  return {
    apps: () => [...apps],
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    add(name: string) {
      apps.add(name);
      listeners.forEach((listener) => listener());
    },
  };
}
