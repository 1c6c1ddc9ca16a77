/** Starts a new run that takes over what happened before a step and goes its own way from there. */
import { useContext, useState } from 'react';
import type { ForkRun } from '@pawl/contracts';
import { forkRun } from '../../api/runs.ts';
import { goTo } from '../../router.tsx';
import { Dialog, Field, textOf } from '../../ui/dialog.tsx';
import { useWords } from '../../words/words.tsx';
import { RunId } from './record-details.tsx';

export function ForkButton({ step }: { step: number }) {
  const { say } = useWords();
  const runId = useContext(RunId);
  const [isOpen, setOpen] = useState(false);
  const send = async (form: FormData) => {
    const { id } = await forkRun(runId, forkOf(form, step));
    goTo(`/runs/${encodeURIComponent(id)}`);
  };
  return (
    <>
      <button
        type="button"
        className="link fork"
        onClick={() => setOpen(true)}
        aria-label={`${say('action.fork')}: ${say('run.step', { step })}`}
      >
        {say('action.fork')}
      </button>
      {isOpen && (
        <Dialog
          title={say('action.forkTitle', { step })}
          why={say('action.forkWhy')}
          go={say('action.forkGo')}
          onClose={() => setOpen(false)}
          onSend={send}
        >
          <Field name="input" label={say('action.forkInput')} kind="area" />
          <Field name="instructions" label={say('action.forkInstructions')} kind="area" />
          <Field name="think" label={say('action.forkModel')} />
          <Field name="allowWrites" label={say('action.forkWrites')} kind="check" />
        </Dialog>
      )}
    </>
  );
}

function forkOf(form: FormData, fromStep: number): ForkRun {
  const input = textOf(form, 'input');
  const instructions = textOf(form, 'instructions');
  const think = textOf(form, 'think');
  return {
    fromStep,
    ...(input === '' ? {} : { input }),
    ...(instructions === '' ? {} : { instructions }),
    ...(think === '' ? {} : { models: { think } }),
    ...(form.get('allowWrites') === null ? {} : { allowWrites: true }),
  };
}
