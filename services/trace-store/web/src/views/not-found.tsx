/** An address with nothing behind it. */
import { Link } from '../router.tsx';
import { useTitle } from '../ui/use-title.ts';
import { useWords } from '../words/words.tsx';

export function NotFound({ why }: { why: string }) {
  const { say } = useWords();
  useTitle(say('state.notFound'));
  return (
    <div className="empty-list">
      <h1>{say('state.notFound')}</h1>
      <p className="quiet">{why}</p>
      <Link to="/runs">{say('state.allRuns')}</Link>
    </div>
  );
}
