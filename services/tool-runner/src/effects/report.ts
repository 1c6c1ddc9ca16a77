/** What a call came to, as it is stored with an effect and published as a fact. */
import { z } from 'zod';
import { observedSchema } from '@pawl/contracts';

export const reportSchema = observedSchema.pick({
  observation: true,
  trust: true,
  rawError: true,
  attempt: true,
  startedAt: true,
  durationMs: true,
});
export type Report = z.infer<typeof reportSchema>;
