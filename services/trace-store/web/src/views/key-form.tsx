/** Asks for the key of an app. */
import { useEffect, useRef, type FormEvent } from 'react';
import { setKey } from '../api/request.ts';
import { useTitle } from '../ui/use-title.ts';
import { useWords } from '../words/words.tsx';

export function KeyForm({ problem, onKey }: { problem: string | undefined; onKey(): void }) {
  const { say } = useWords();
  const input = useRef<HTMLInputElement>(null);
  useTitle(say('key.title'));
  useEffect(() => input.current?.focus(), []);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get('key');
    if (typeof key !== 'string' || key.trim() === '') return;
    setKey(key);
    onKey();
  };
  return (
    <form className="key-form" onSubmit={submit}>
      <h1>{say('key.title')}</h1>
      <p className="quiet">{say('key.why')}</p>
      {problem !== undefined && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <label htmlFor="key">{say('key.label')}</label>
      <div className="key-row">
        <input id="key" name="key" type="password" autoComplete="off" spellCheck={false} ref={input} required />
        <button type="submit">{say('key.open')}</button>
      </div>
      <p className="quiet small">{say('key.dev')}</p>
    </form>
  );
}
