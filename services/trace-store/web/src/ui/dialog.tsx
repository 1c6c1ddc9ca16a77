/** A form in front of the page. The browser keeps the focus in it, closes it on Escape and gives the focus back. */
import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { useProblemText } from './problem.tsx';
import { useWords } from '../words/words.tsx';

type DialogProps = {
  title: string;
  why?: string;
  /** The word on the button that sends. */
  go: string;
  isDangerous?: boolean;
  onClose(): void;
  /** Sends the form; what it throws is shown and the dialog stays. */
  onSend(form: FormData): Promise<unknown>;
  children?: ReactNode;
};

export function Dialog({ title, why, go, isDangerous = false, onClose, onSend, children }: DialogProps) {
  const { say } = useWords();
  const problemText = useProblemText();
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setSending(true);
    setProblem(undefined);
    try {
      await onSend(new FormData(event.currentTarget));
      onClose();
    } catch (error) {
      setProblem(problemText(error));
      setSending(false);
    }
  };
  return (
    <dialog ref={ref} aria-labelledby={titleId} onClose={onClose}>
      <form onSubmit={(event) => void send(event)}>
        <h2 id={titleId}>{title}</h2>
        {why !== undefined && <p className="quiet">{why}</p>}
        {children}
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="dialog-buttons">
          <button type="button" onClick={() => ref.current?.close()}>
            {say('action.close')}
          </button>
          <button type="submit" data-tone={isDangerous ? 'bad' : undefined} disabled={isSending}>
            {go}
          </button>
        </div>
      </form>
    </dialog>
  );
}

type FieldProps = {
  name: string;
  label: string;
  kind?: 'text' | 'number' | 'area' | 'check';
  value?: string;
  isNeeded?: boolean;
  placeholder?: string;
};

/** A labelled field of a form. */
export function Field({ name, label, kind = 'text', value = '', isNeeded = false, placeholder }: FieldProps) {
  if (kind === 'check') {
    return (
      <label className="field check">
        <input type="checkbox" name={name} />
        {label}
      </label>
    );
  }
  const shared = { name, defaultValue: value, required: isNeeded, placeholder };
  return (
    <label className="field">
      {label}
      {kind === 'area' ? (
        <textarea rows={4} dir="auto" {...shared} />
      ) : (
        <input {...shared} dir="auto" autoComplete="off" {...(kind === 'number' ? { type: 'number', min: 1 } : {})} />
      )}
    </label>
  );
}

/** A field's text without space around it. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
