/** The line of a correction: what it corrects, with another cost and no usage. Pure. */
import type { LedgerEntry } from './entry.ts';

export function correctionOf(
  line: LedgerEntry,
  of: { correctionId: string; costNanoUsd: string; note: string; at: string },
): LedgerEntry {
  return {
    ...line,
    call_id: of.correctionId,
    at: of.at,
    attempts: 0,
    input_tokens: 0,
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cost_nano_usd: of.costNanoUsd,
    stop_kind: 'correction',
    is_final: false,
    held_nano_usd: null,
    corrects: line.call_id,
    note: of.note,
  };
}
