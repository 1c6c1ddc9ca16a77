/**
 * The circuit of one endpoint: several failures in a row open it, after a pause one call probes, a success closes it. Pure.
 */

export type Circuit = {
  /** Failures in a row. */
  failures: number;
  /** Open until then, Unix time in milliseconds; 0 when closed. */
  openUntilMs: number;
  /** Another call probes until then at the latest. */
  probedUntilMs: number;
};

export const closedCircuit: Circuit = { failures: 0, openUntilMs: 0, probedUntilMs: 0 };

const failuresMax = 5;
const pauseFirstMs = 5_000;
const pauseMaxMs = 60_000;
const probeMs = 30_000;

/** Whether a call may go there without being the second probe. */
export function isPassable(circuit: Circuit, nowMs: number): boolean {
  return circuit.openUntilMs === 0 || (nowMs >= circuit.openUntilMs && nowMs >= circuit.probedUntilMs);
}

/** After a call failed. `retryAfterMs`: the pause that the endpoint asked for; it opens the circuit at once. */
export function afterFailure(circuit: Circuit, nowMs: number, retryAfterMs?: number): Circuit {
  const failures = circuit.failures + 1;
  const beyond = failures - failuresMax;
  const backoffMs = beyond < 0 ? 0 : Math.min(pauseMaxMs, pauseFirstMs * 2 ** Math.min(beyond, 10));
  const pauseMs = Math.max(backoffMs, Math.min(retryAfterMs ?? 0, pauseMaxMs));
  const openUntilMs = pauseMs === 0 ? circuit.openUntilMs : Math.max(circuit.openUntilMs, nowMs + pauseMs);
  return { failures, openUntilMs, probedUntilMs: 0 };
}

/** When a call begins: the first one after the pause is the probe. */
export function afterStart(circuit: Circuit, nowMs: number): Circuit {
  return circuit.openUntilMs > 0 && nowMs >= circuit.openUntilMs
    ? { ...circuit, probedUntilMs: nowMs + probeMs }
    : circuit;
}
