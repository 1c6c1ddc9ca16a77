/** What the client sends and gets besides runs and their facts. */
import type { KeyRecord, MoneyView, ObservationStatus, RegistryObject, Trust } from '@pawl/contracts';
import type { decideApprovalSchema, sendSignalSchema } from '@pawl/contracts';
import type { z } from 'zod';

/** A declared object as it is kept. */
export type StoredObject = RegistryObject & { revision: string; updatedAt: string };

export type ApprovalDecision = z.infer<typeof decideApprovalSchema>;

/** Text or data, or both. */
export type RunSignal = z.infer<typeof sendSignalSchema>;

/** What a model would get as the result of a call. */
export type ToolResult = {
  status: ObservationStatus;
  data: unknown;
  error_code: string | null;
  message: string | null;
  suggestion: string | null;
  truncated: boolean;
  /** Names the whole result where `data` is only a part of it. */
  ref: string | null;
  source: string;
  trust: Trust;
};

/** Sums of the model calls of a time; each item also has the columns that were asked for, by their names. */
export type SpendReport = {
  /** Inclusive. */
  from: string;
  /** Exclusive. */
  to: string;
  items: ({
    calls: number;
    inputTokens: number;
    outputTokens: number;
    /** Calls whose cost is an estimate. */
    estimatedCalls: number;
    cost: MoneyView;
  } & Record<string, unknown>)[];
};

/** A key, which is shown this once, and what is known of it. */
export type CreatedKey = KeyRecord & { key: string };
