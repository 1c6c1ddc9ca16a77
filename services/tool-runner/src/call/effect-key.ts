/** The key under which an effect happens at most once (I10). Pure. */
import { canonicalJson, fingerprintJson, sha256 } from '@pawl/contracts';

export type EffectOf = { app: string; runId: string; step: number; tool: string; args: string };

/** SHA-256 over app, run, step, tool and the canonical arguments. `args` has to be JSON text. */
export function effectKey({ app, runId, step, tool, args }: EffectOf): string {
  return sha256(canonicalJson([app, runId, step, tool, fingerprintJson(args)]));
}
