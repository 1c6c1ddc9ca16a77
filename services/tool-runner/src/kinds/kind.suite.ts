/**
 * What every kind has to do, whatever it talks to. Each kind's test brings real peers and runs these cases.
 * A case that a kind has no peer for is left out of its fixture.
 */
import { describe, expect, test } from 'vitest';
import { parseArguments } from '@pawl/calls';
import { RejectedError, toolSchema, type Tool } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { BrokenOffError, type Outcome } from '../call/outcome.ts';
import type { Kind, KindCall } from './kind.ts';

export type Call = { tool: Tool; args: string };

export type KindFixture = {
  kind: Kind;
  /** A call that gives `data`. */
  working: Call & { data: unknown };
  /** A call whose argument is the number 9007199254740993, and whose result holds it. */
  exact?: Call;
  /** A call that ends only when it is broken off, and whether its peer has noticed the end. */
  endless?: Call & { isUnderWay(): Promise<boolean>; isReleased(): Promise<boolean> };
  /** A call to a peer that isn't there. */
  unreachable?: Call;
  /** A call to an address that tools may not reach. */
  forbidden?: Call;
  /** A call that needs a secret that isn't set. */
  withoutSecret?: Call;
  /** A call whose result is above the cap. */
  tooLarge?: Call;
  /** Tools that could never work. */
  refused: Tool[];
};

/** A tool named `tool` of app `demo`. */
export function toolOf(spec: Record<string, unknown>): Tool {
  return toolSchema.parse({
    apiVersion: 'pawl.dev/v1',
    kind: 'Tool',
    metadata: { app: 'demo', name: 'tool' },
    spec: { description: 'A tool.', ...spec },
  });
}

/** Executes a call as the runner does, without its retries and its cutting. */
export async function callKind(kind: Kind, { tool, args }: Call, overrides: Partial<KindCall> = {}): Promise<Outcome> {
  const parsed = parseArguments(args);
  if ('failure' in parsed) throw new Error(parsed.failure.message);
  return await kind.execute({
    app: 'demo',
    tool,
    args: parsed.args,
    runId: undefined,
    effectKey: undefined,
    trace: newTraceContext(),
    signal: new AbortController().signal,
    maxChars: 2_000,
    spool: undefined,
    onLife: () => {},
    answerTo: undefined,
    askedAtMs: undefined,
    deadlineAtMs: Date.now() + 30_000,
    callTool: () => Promise.reject(new Error('this kind calls no other tools')),
    ...overrides,
  });
}

/** The data of an outcome that has to be a result. */
export function dataOf(outcome: Outcome): string {
  if (outcome.kind === 'stored') throw new Error('the result was stored');
  if (outcome.kind === 'failure') throw new Error(`${outcome.code}: ${outcome.message} ${outcome.rawError ?? ''}`);
  return outcome.data;
}

export function describeKind(name: string, fixture: () => KindFixture, cases: readonly (keyof KindFixture)[]): void {
  describe(`kind ${name}`, () => {
    test('gives its result as compact JSON', async () => {
      const { kind, working } = fixture();
      kind.check(working.tool);
      const data = dataOf(await callKind(kind, working));
      expect(JSON.parse(data)).toEqual(working.data);
      expect(data).not.toMatch(/\n/);
    });

    test('refuses tools that could never work', () => {
      const { kind, refused } = fixture();
      for (const tool of refused) expect(() => kind.check(tool)).toThrow(RejectedError);
      expect(refused.length).toBeGreaterThan(0);
    });

    testOf(cases, 'exact')('carries numbers beyond 2^53 digit for digit, there and back', async () => {
      const { kind, exact } = fixture();
      const data = dataOf(await callKind(kind, exact as Call));
      expect(data).toMatch(/:9007199254740993\b/);
    });

    testOf(cases, 'endless')('lets go of its peer when the call is broken off', async () => {
      const { kind, endless } = fixture();
      if (!endless) throw new Error('no peer');
      const controller = new AbortController();
      const outcome = callKind(kind, endless, { signal: controller.signal }).catch((error: unknown) => error);
      await until(endless.isUnderWay);
      controller.abort(new BrokenOffError('cancelled'));
      expect(await outcome).toBeInstanceOf(BrokenOffError);
      await until(endless.isReleased);
    });

    testOf(cases, 'unreachable')('says that a peer is not there, and that nothing happened', async () => {
      const { kind, unreachable } = fixture();
      const outcome = await callKind(kind, unreachable as Call);
      expect(outcome).toMatchObject({ kind: 'failure', code: 'tool_unreachable', isTransient: true, effect: 'none' });
    });

    testOf(cases, 'forbidden')('refuses addresses that tools may not reach', async () => {
      const { kind, forbidden } = fixture();
      const outcome = await callKind(kind, forbidden as Call);
      expect(outcome).toMatchObject({
        kind: 'failure',
        code: 'target_not_allowed',
        isTransient: false,
        effect: 'none',
      });
    });

    testOf(cases, 'withoutSecret')('names a secret that is not set', async () => {
      const { kind, withoutSecret } = fixture();
      const outcome = await callKind(kind, withoutSecret as Call);
      expect(outcome).toMatchObject({ kind: 'failure', code: 'secret_missing', effect: 'none' });
    });

    testOf(cases, 'tooLarge')('stops at its cap', async () => {
      const { kind, tooLarge } = fixture();
      const outcome = await callKind(kind, tooLarge as Call);
      expect(outcome).toMatchObject({ kind: 'failure', code: 'tool_result_too_large' });
    });
  });
}

/** Vitest's `test` for a case that the fixture has, and nothing for one that it hasn't. */
function testOf(cases: readonly (keyof KindFixture)[], wanted: keyof KindFixture): typeof test | (() => void) {
  return cases.includes(wanted) ? test : () => {};
}

async function until(check: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 10_000;
  while (!(await check())) {
    if (performance.now() > giveUpAt) throw new Error('it did not come true within 10 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
