/** What a person may do to a run: cancel it, tell it something, let it go on with more, compare it. */
import { useState } from 'react';
import type { Limits } from '@pawl/contracts';
import { cancelRun, resumeRun, sendSignal } from '../../api/runs.ts';
import { goTo } from '../../router.tsx';
import { Dialog, Field, textOf } from '../../ui/dialog.tsx';
import { useWords } from '../../words/words.tsx';

type Action = 'cancel' | 'signal' | 'resume' | 'compare';

type RunActionsProps = {
  runId: string;
  status: string;
  forkOf: string | undefined;
  /** Whether the key may act on runs at all. */
  canAct: boolean;
  onDone(): void;
};

export function RunActions({ runId, status, forkOf, canAct, onDone }: RunActionsProps) {
  const { say } = useWords();
  const [open, setOpen] = useState<Action>();
  const close = () => setOpen(undefined);
  const isOpenRun = status !== 'ended' && canAct;
  const compareTo = (other: string) => goTo(`/compare?${new URLSearchParams({ a: other, b: runId })}`);
  return (
    <div className="actions" role="group" aria-label={say('action.menu')}>
      {isOpenRun && status === 'paused' && (
        <button type="button" className="primary" onClick={() => setOpen('resume')}>
          {say('action.resume')}
        </button>
      )}
      {isOpenRun && (
        <button type="button" onClick={() => setOpen('signal')}>
          {say('action.signal')}
        </button>
      )}
      {isOpenRun && (
        <button type="button" data-tone="bad" onClick={() => setOpen('cancel')}>
          {say('action.cancel')}
        </button>
      )}
      {forkOf !== undefined && (
        <button type="button" onClick={() => compareTo(forkOf)}>
          {say('action.compareWith')}
        </button>
      )}
      <button type="button" onClick={() => setOpen('compare')}>
        {say('action.compare')}
      </button>
      {open === 'cancel' && <CancelDialog runId={runId} onClose={close} onDone={onDone} />}
      {open === 'signal' && <SignalDialog runId={runId} onClose={close} onDone={onDone} />}
      {open === 'resume' && <ResumeDialog runId={runId} onClose={close} onDone={onDone} />}
      {open === 'compare' && (
        <Dialog
          title={say('action.compareTitle')}
          go={say('action.compare')}
          onClose={close}
          onSend={async (form) => compareTo(textOf(form, 'other'))}
        >
          <Field name="other" label={say('action.compareId')} isNeeded />
        </Dialog>
      )}
    </div>
  );
}

type ActionDialogProps = { runId: string; onClose(): void; onDone(): void };

function CancelDialog({ runId, onClose, onDone }: ActionDialogProps) {
  const { say } = useWords();
  return (
    <Dialog
      title={say('action.cancel')}
      why={say('action.cancelWhy')}
      go={say('action.cancel')}
      isDangerous
      onClose={onClose}
      onSend={(form) => cancelRun(runId, textOf(form, 'reason')).then(onDone)}
    >
      <Field name="reason" label={say('action.reasonOptional')} />
    </Dialog>
  );
}

function SignalDialog({ runId, onClose, onDone }: ActionDialogProps) {
  const { say } = useWords();
  return (
    <Dialog
      title={say('action.signal')}
      why={say('action.signalWhy')}
      go={say('action.send')}
      onClose={onClose}
      onSend={(form) => sendSignal(runId, textOf(form, 'text')).then(onDone)}
    >
      <Field name="text" label={say('action.message')} kind="area" isNeeded />
    </Dialog>
  );
}

function ResumeDialog({ runId, onClose, onDone }: ActionDialogProps) {
  const { say } = useWords();
  return (
    <Dialog
      title={say('action.resume')}
      why={say('action.resumeWhy')}
      go={say('action.resumeGo')}
      onClose={onClose}
      onSend={(form) => resumeRun(runId, limitsOf(form)).then(onDone)}
    >
      <Field name="steps" label={say('action.limitSteps')} kind="number" />
      <Field name="toolCalls" label={say('action.limitCalls')} kind="number" />
      <Field name="tokens" label={say('action.limitTokens')} kind="number" />
      <Field name="wallClock" label={say('action.limitTime')} />
      <Field name="spend" label={say('action.limitSpend')} placeholder="0.40" />
    </Dialog>
  );
}

function limitsOf(form: FormData): Limits {
  const limits: Limits = {};
  for (const name of ['steps', 'toolCalls', 'tokens'] as const) {
    const text = textOf(form, name);
    if (text !== '') limits[name] = Number(text);
  }
  const wallClock = textOf(form, 'wallClock');
  const spend = textOf(form, 'spend');
  if (wallClock !== '') limits.wallClock = wallClock;
  if (spend !== '') limits.spend = { amount: spend, currency: 'USD' };
  return limits;
}
