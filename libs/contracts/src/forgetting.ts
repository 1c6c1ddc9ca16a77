/** What a service is asked to forget, and how it says that it has. On core NATS: whoever asks goes on asking until then. */
import { z } from 'zod';
import { objectNameSchema } from './names.ts';

export const forgettingSchema = z.object({
  app: objectNameSchema,
  /** Runs that have ended. */
  runIds: z.array(z.string().max(200)).max(1_000),
  /** Everything else that is kept of this user, whose runs have all ended. */
  userId: z.string().max(200).optional(),
});
export type Forgetting = z.infer<typeof forgettingSchema>;

export const forgetSchema = forgettingSchema.extend({ id: z.string() });
export type Forget = z.infer<typeof forgetSchema>;

/** The answer, with the id of what was asked. */
export const forgottenSchema = z.object({ id: z.string(), isDone: z.boolean() });
