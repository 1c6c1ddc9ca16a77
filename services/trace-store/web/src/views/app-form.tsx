/** Asks for which app a reader wants to look, where there are several. */
import { useTitle } from '../ui/use-title.ts';
import { useWords } from '../words/words.tsx';

export function AppForm({ apps, onChoose }: { apps: readonly string[]; onChoose(app: string): void }) {
  const { say } = useWords();
  useTitle(say('app.title'));
  return (
    <div className="key-form">
      <h1>{say('app.title')}</h1>
      <p className="quiet">{say(apps.length === 0 ? 'app.none' : 'app.why')}</p>
      <div className="actions">
        {apps.map((app) => (
          <button key={app} type="button" onClick={() => onChoose(app)}>
            {app}
          </button>
        ))}
      </div>
    </div>
  );
}
