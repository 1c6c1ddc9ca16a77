/** How a run stands: its stop reason once it has one, else its status; one that has fallen silent is never called running. */
import { useWords } from '../words/words.tsx';
import { Chip, toneOfStatus, toneOfStop } from './chip.tsx';

type Standing = { status: string; stopReason: string | null; isLost: boolean };

export function StatusChip({ run }: { run: Standing }) {
  const { say, wordFor } = useWords();
  if (run.isLost) return <Chip tone="bad">{say('status.lost')}</Chip>;
  if (run.stopReason !== null) return <Chip tone={toneOfStop(run.stopReason)}>{wordFor('stop', run.stopReason)}</Chip>;
  return <Chip tone={toneOfStatus(run.status)}>{wordFor('status', run.status)}</Chip>;
}
