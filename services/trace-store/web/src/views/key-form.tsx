/** Asks for the key of an app, and offers to sign in where that is possible. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, type FormEvent } from 'react';
import { setKey } from '../api/request.ts';
import { readSignIn, startSignIn } from '../api/sign-in.ts';
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
      <SignIn />
      <label htmlFor="key">{say('key.label')}</label>
      <div className="key-row">
        <input id="key" name="key" type="password" autoComplete="off" spellCheck={false} ref={input} required />
        <button type="submit">{say('key.open')}</button>
      </div>
      <p className="quiet small">{say('key.dev')}</p>
    </form>
  );
}

function SignIn() {
  const { say } = useWords();
  const { data: description } = useQuery({
    queryKey: ['sign-in'],
    queryFn: async ({ signal }) => (await readSignIn(signal)) ?? null,
    staleTime: Infinity,
  });
  if (!description) return null;
  return (
    <>
      <div className="key-row">
        <button type="button" onClick={() => void startSignIn(description)}>
          {say('signIn.in')}
        </button>
      </div>
      <p className="quiet">{say('signIn.orKey')}</p>
    </>
  );
}
