/** What an agent may not ask for, although its schema allows it: limits that can't be met, and what isn't built yet. */
import { RejectedError, type RegistryObject } from '@pawl/contracts';
import { settleLimits } from '../run/limits.ts';

/** Throws `RejectedError` for what would otherwise be silently ignored, to somebody's harm. */
export function checkAgent(object: RegistryObject): void {
  if (object.kind !== 'Agent') return;
  const { spec } = object;
  settleLimits(spec.limits, undefined);
  const unsupported = [
    spec.strategy && spec.strategy !== 'react' ? `strategy ${spec.strategy}` : undefined,
    spec.stages ? 'stages' : undefined,
    spec.approvals ? 'approvals' : undefined,
    spec.answer ? 'answer.schema' : undefined,
    spec.thoughts === 'hidden' ? 'thoughts: hidden' : undefined,
  ].filter((name) => name !== undefined);
  if (unsupported.length > 0) {
    throw new RejectedError('not_supported', `not supported yet: ${unsupported.join(', ')}`);
  }
}
