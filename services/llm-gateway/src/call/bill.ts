/** What a call used and cost, and how that is known. */
import { noUsage, type Thought, type Usage } from '@pawl/contracts';

export type Bill = { usage: Usage; costNanoUsd: bigint; basis: Thought['costBasis'] };

/** Of a call that cost nothing. */
export const freeBill: Bill = { usage: noUsage, costNanoUsd: 0n, basis: 'measured' };
