/**
 * Conditions in CEL, as Kubernetes uses it. Compiled once, evaluated without I/O; source: https://cel.dev
 * A condition that can't be evaluated, for example because a field is missing, counts as `whenUnknown` says.
 */
import { parse } from '@marcbachmann/cel-js';
import { RejectedError } from '@pawl/contracts';

type Compiled = (context: Record<string, unknown>) => unknown;

const compiled = new Map<string, Compiled>();
const compiledMax = 1_000;

/** Whether a condition holds. `whenUnknown` is the careful answer where it can't be told. */
export function holds(condition: string, context: Record<string, unknown>, whenUnknown: boolean): boolean {
  try {
    const value = compile(condition)(context);
    return typeof value === 'boolean' ? value : whenUnknown;
  } catch {
    return whenUnknown;
  }
}

/** Throws `RejectedError` when a condition is not CEL. */
export function checkCondition(path: string, condition: string): void {
  try {
    compile(condition);
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : 'not CEL').split('\n');
    throw new RejectedError('invalid_request', `${path}: ${reason}`);
  }
}

function compile(condition: string): Compiled {
  const known = compiled.get(condition);
  if (known) return known;
  const fresh = parse(condition) as Compiled;
  if (compiled.size >= compiledMax) compiled.clear();
  compiled.set(condition, fresh);
  return fresh;
}
