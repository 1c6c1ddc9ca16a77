/** A small label with a tone: how a run, a call or a service stands. Its words say it; the colour only repeats it. */
import type { ReactNode } from 'react';

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'live';

const stopTones: Record<string, Tone> = {
  final_answer: 'good',
  cancelled: 'quiet',
  model_unavailable: 'bad',
  residency_blocked: 'bad',
  policy_blocked: 'bad',
  invalid_answer: 'bad',
  internal_error: 'bad',
};

const statusTones: Record<string, Tone> = { running: 'live', waiting: 'warn', paused: 'warn', ended: 'quiet' };

const observationTones: Record<string, Tone> = {
  ok: 'good',
  error: 'bad',
  denied: 'warn',
  duplicate: 'quiet',
  timeout: 'bad',
  cancelled: 'quiet',
  in_doubt: 'bad',
};

export function toneOfStop(reason: string): Tone {
  return stopTones[reason] ?? 'warn';
}

export function toneOfStatus(status: string): Tone {
  return statusTones[status] ?? 'quiet';
}

export function toneOfObservation(status: string): Tone {
  return observationTones[status] ?? 'quiet';
}

export function Chip({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className="chip" data-tone={tone}>
      {children}
    </span>
  );
}
