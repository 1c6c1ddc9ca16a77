/** What went wrong, in a sentence, and what can be done about it. */
import { ApiError } from '../api/request.ts';
import { useWords } from '../words/words.tsx';
import { visibleText } from '../record/format.ts';

/** The sentence for an error: in the reader's language by its code, and what the service said about this very case. */
export function useProblemText(): (error: unknown) => string {
  const { say, wordFor } = useWords();
  return (error) => {
    if (!(error instanceof ApiError)) return String(error);
    if (error.status === 0) return say('state.unreachable');
    if (error.status === 403 && error.code === undefined) return say('state.notAllowed');
    const { code = '', status, message } = error;
    const known = wordFor('problem', code);
    const sentence = known === code ? say('state.failed', { status }) : known;
    if (message === '') return sentence;
    return say('state.withDetail', { sentence, detail: visibleText(message) });
  };
}

export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { say } = useWords();
  const problemText = useProblemText();
  return (
    <div className="centred" role="alert">
      <p>{problemText(error)}</p>
      {onRetry && (
        <button type="button" className="more" onClick={onRetry}>
          {say('state.retry')}
        </button>
      )}
    </div>
  );
}

export function Loading() {
  const { say } = useWords();
  return (
    <p className="quiet centred" role="status">
      {say('state.loading')}
    </p>
  );
}
