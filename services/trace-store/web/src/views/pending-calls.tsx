/**
 * Calls that wait for a person: approve, deny with a reason, change the arguments, answer a question.
 * A decision carries the hash of the arguments that were shown, so it can apply to nothing else (I11).
 */
import { useId, useState } from 'react';
import { decide, sendSignal, type Decision, type ShownPending } from '../api/runs.ts';
import { isExactRecord, parseExact } from '../record/exact-json.ts';
import { visibleText } from '../record/format.ts';
import { Icon } from '../ui/icon.tsx';
import { useProblemText } from '../ui/problem.tsx';
import { Arguments } from '../ui/value.tsx';
import { useWords } from '../words/words.tsx';

/** `onDone` is told the sentence that says so once a decision was taken, and nothing where it was refused. */
type OnDone = (said?: string) => void;
type PendingCallsProps = { runId: string; pending: ShownPending[]; onDone: OnDone };

export function PendingCalls({ runId, pending, onDone }: PendingCallsProps) {
  return pending.map((call) =>
    call.kind === 'input' ? (
      <Question key={call.callId} runId={runId} call={call} onDone={onDone} />
    ) : (
      <Approval key={`${call.callId} ${call.argsHash}`} runId={runId} call={call} onDone={onDone} />
    ),
  );
}

type PendingProps = { runId: string; call: ShownPending; onDone: OnDone };
type Mode = 'choose' | 'deny' | 'edit';

function Approval({ runId, call, onDone }: PendingProps) {
  const { say, time, age } = useWords();
  const titleId = useId();
  const [mode, setMode] = useState<Mode>('choose');
  const { problem, isSending, send } = useSending(onDone);
  const choose = (decision: Decision) => send(() => decide(runId, call.callId, decision));
  const { argsHash } = call;
  return (
    <section className="pending" aria-labelledby={titleId}>
      <header>
        <Icon name="person" />
        <h2 id={titleId}>{say('approval.title')}</h2>
        {call.expiresAt !== null && (
          <span className="aside">
            {say('approval.expires', { time: time(call.expiresAt), age: age(call.expiresAt) })}
          </span>
        )}
      </header>
      {call.why !== '' && <p dir="auto">{visibleText(call.why)}</p>}
      <p className="tool">
        <code>{visibleText(call.tool)}</code>
      </p>
      <Arguments text={call.argsText} />
      <p className="quiet small">{say('approval.bound')}</p>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {mode === 'choose' && (
        <Choice
          isSending={isSending}
          onMode={setMode}
          onApprove={() => void choose({ decision: 'approve', argsHash })}
        />
      )}
      {mode === 'deny' && (
        <TextForm
          label={say('approval.denyWhy')}
          go={say('approval.deny')}
          onBack={() => setMode('choose')}
          onSend={(reason) => void choose({ decision: 'deny', argsHash, reason })}
        />
      )}
      {mode === 'edit' && (
        <TextForm
          label={say('approval.editLabel')}
          go={say('approval.editGo')}
          value={call.argsText}
          isCode
          check={(text) => (isExactRecord(parseExact(text)) ? undefined : say('approval.editInvalid'))}
          onBack={() => setMode('choose')}
          onSend={(argsText) => void choose({ decision: 'edit', argsHash, argsText, reason: '' })}
        />
      )}
    </section>
  );
}

type ChoiceProps = { isSending: boolean; onMode(mode: Mode): void; onApprove(): void };

function Choice({ isSending, onMode, onApprove }: ChoiceProps) {
  const { say } = useWords();
  return (
    <div className="actions">
      <button type="button" className="primary" disabled={isSending} onClick={onApprove}>
        {say('approval.approve')}
      </button>
      <button type="button" data-tone="bad" disabled={isSending} onClick={() => onMode('deny')}>
        {say('approval.deny')}
      </button>
      <button type="button" disabled={isSending} onClick={() => onMode('edit')}>
        {say('approval.edit')}
      </button>
    </div>
  );
}

function Question({ runId, call, onDone }: PendingProps) {
  const { say } = useWords();
  const titleId = useId();
  const { problem, send } = useSending(onDone);
  return (
    <section className="pending" aria-labelledby={titleId}>
      <header>
        <Icon name="person" />
        <h2 id={titleId}>{say('approval.question')}</h2>
      </header>
      <p className="question-text" dir="auto">
        {visibleText(call.why)}
      </p>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <TextForm
        label={say('approval.answer')}
        go={say('action.send')}
        onSend={(text) => void send(() => sendSignal(runId, text))}
      />
    </section>
  );
}

function useSending(onDone: OnDone) {
  const { say } = useWords();
  const problemText = useProblemText();
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const send = async (act: () => Promise<unknown>) => {
    setSending(true);
    setProblem(undefined);
    try {
      await act();
      onDone(say('approval.taken'));
    } catch (error) {
      setProblem(problemText(error));
      onDone();
    } finally {
      setSending(false);
    }
  };
  return { problem, isSending, send };
}

type TextFormProps = {
  label: string;
  go: string;
  value?: string;
  isCode?: boolean;
  check?: (text: string) => string | undefined;
  onSend(text: string): void;
  onBack?: () => void;
};

function TextForm({ label, go, value = '', isCode = false, check, onSend, onBack }: TextFormProps) {
  const { say } = useWords();
  const [text, setText] = useState(value);
  const mistake = check?.(text);
  return (
    <form
      className="text-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (mistake === undefined) onSend(text.trim());
      }}
    >
      <label className="field">
        {label}
        <textarea
          dir="auto"
          required
          rows={isCode ? Math.min(16, text.split('\n').length + 1) : 3}
          className={isCode ? 'code' : undefined}
          spellCheck={!isCode}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      {mistake !== undefined && (
        <p className="problem" role="alert">
          {mistake}
        </p>
      )}
      <div className="actions">
        <button type="submit" disabled={mistake !== undefined}>
          {go}
        </button>
        {onBack && (
          <button type="button" onClick={onBack}>
            {say('action.back')}
          </button>
        )}
      </div>
    </form>
  );
}
