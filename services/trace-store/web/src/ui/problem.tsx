/** What went wrong, in a sentence, and what can be done about it. */
import { ApiError } from '../api/request.ts';
import { useWords } from '../words/words.tsx';
import { visibleText } from '../record/format.ts';

/** The sentence for an error. */
export function useProblemText(): (error: unknown) => string {
  const { say } = useWords();
  return (error) => {
    if (!(error instanceof ApiError)) return String(error);
    if (error.status === 0) return say('state.unreachable');
    if (error.status === 403) return say('state.notAllowed');
    return visibleText(error.message) || say('state.failed', { status: error.status });
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
