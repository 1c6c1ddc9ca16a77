/** Why a run ended or paused: one closed list, on every ended or paused run. */
import { z } from 'zod';
import { stopReasons } from './words.ts';

export const stopReasonSchema = z.enum(stopReasons);
export type StopReason = z.infer<typeof stopReasonSchema>;
