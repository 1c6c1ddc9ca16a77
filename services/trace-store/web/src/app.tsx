/** The frame of every view: the bar with where one can go, language and colours, and whose key is used. */
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { keepAppChoice, readAppChoice, type AppChoice } from './api/app-choice.ts';
import { ApiError, forgetCredential, hasCredential } from './api/request.ts';
import { isSignedIn, signOut } from './api/sign-in.ts';
import { readTheme, setTheme, type Theme } from './preferences.ts';
import type { Language } from './record/format.ts';
import { Link, useAddress } from './router.tsx';
import { AppForm } from './views/app-form.tsx';
import { Approvals } from './views/approvals.tsx';
import { Budgets } from './views/budgets.tsx';
import { Compare } from './views/compare.tsx';
import { Health } from './views/health.tsx';
import { KeyForm } from './views/key-form.tsx';
import { NotFound } from './views/not-found.tsx';
import { RunList } from './views/run-list.tsx';
import { RunView } from './views/run/run-view.tsx';
import { Sessions } from './views/sessions.tsx';
import { changeLanguage, useWords } from './words/words.tsx';

type Problem = 'key.wrong' | 'signIn.ended' | 'signIn.failed';

export function App({ problem: problemAtStart }: { problem: Problem | undefined }) {
  const { say } = useWords();
  const [hasKey, setHasKey] = useState(hasCredential);
  const [choice, setChoice] = useState(readAppChoice);
  const [problem, setProblem] = useState(problemAtStart);
  const client = useMemo(
    () =>
      createClient(({ status, apps }) => {
        if (apps) setChoice({ apps, app: null });
        if (status !== 401) return;
        setProblem(isSignedIn() ? 'signIn.ended' : 'key.wrong');
        forgetCredential();
        setChoice(undefined);
        setHasKey(false);
      }),
    [],
  );
  const forget = () => {
    if (isSignedIn()) signOut();
    forgetCredential();
    client.clear();
    setProblem(undefined);
    setChoice(undefined);
    setHasKey(false);
  };
  const choose = (chosen: AppChoice) => {
    keepAppChoice(chosen);
    client.clear();
    setChoice(chosen);
  };
  return (
    <QueryClientProvider client={client}>
      <a className="skip" href="#content">
        {say('nav.skip')}
      </a>
      <Bar hasKey={hasKey} choice={choice} onChoose={choose} onForget={forget} />
      <main id="content" tabIndex={-1}>
        {!hasKey && (
          <KeyForm
            problem={problem && say(problem)}
            onKey={() => {
              setProblem(undefined);
              setHasKey(true);
            }}
          />
        )}
        {hasKey && choice?.app === null && (
          <AppForm apps={choice.apps} onChoose={(app) => choose({ ...choice, app })} />
        )}
        {hasKey && choice?.app !== null && <View key={choice?.app} />}
      </main>
    </QueryClientProvider>
  );
}

function createClient(onError: (error: ApiError) => void): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onError: (error) => error instanceof ApiError && onError(error) }),
    defaultOptions: {
      queries: {
        retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
        retryDelay: 500,
        staleTime: 1_000,
      },
    },
  });
}

function View() {
  const { say } = useWords();
  const { path } = useAddress();
  const main = useRef<string>(path);
  useEffect(() => {
    // A screen reader begins at the top of a new view.
    if (main.current !== path) document.querySelector<HTMLElement>('#content')?.focus({ preventScroll: true });
    main.current = path;
  }, [path]);
  const runId = /^\/runs\/([^/]+)\/?$/.exec(path)?.[1];
  if (runId !== undefined) return <RunView key={runId} runId={decodeURIComponent(runId)} />;
  switch (path.replace(/\/$/, '')) {
    case '':
    case '/runs':
      return <RunList />;
    case '/approvals':
      return <Approvals />;
    case '/sessions':
      return <Sessions />;
    case '/compare':
      return <Compare />;
    case '/budgets':
      return <Budgets />;
    case '/health':
      return <Health />;
    default:
      return <NotFound why={say('state.noSuchPage')} />;
  }
}

const places = ['runs', 'approvals', 'sessions', 'budgets', 'health'] as const;
const languages: Record<Language, string> = { en: 'English', zh: '中文', pt: 'Português' };

type BarProps = {
  hasKey: boolean;
  choice: AppChoice | undefined;
  onChoose(choice: AppChoice): void;
  onForget(): void;
};

function Bar({ hasKey, choice, onChoose, onForget }: BarProps) {
  const { say } = useWords();
  const { path } = useAddress();
  const here = path === '/' ? 'runs' : path.split('/')[1];
  return (
    <header className="bar">
      <Link className="brand" to="/runs">
        <img src="/page/mark.svg" alt="" width="26" height="26" />
        Pawl
      </Link>
      <nav aria-label={say('nav.main')}>
        {hasKey &&
          places.map((place) => (
            <Link key={place} to={`/${place}`} aria-current={place === here ? 'page' : undefined}>
              {say(`nav.${place}`)}
            </Link>
          ))}
      </nav>
      <span className="bar-space" />
      {hasKey && choice && choice.app !== null && (
        <select
          aria-label={say('app.label')}
          value={choice.app}
          onChange={(event) => onChoose({ ...choice, app: event.target.value })}
        >
          {choice.apps.map((app) => (
            <option key={app}>{app}</option>
          ))}
        </select>
      )}
      <Choices />
      {hasKey && (
        <button type="button" className="link" onClick={onForget}>
          {say(isSignedIn() ? 'signIn.out' : 'key.forget')}
        </button>
      )}
    </header>
  );
}

function Choices() {
  const { say, language } = useWords();
  const [theme, setShownTheme] = useState(readTheme);
  const chooseTheme = (chosen: Theme) => {
    setTheme(chosen);
    setShownTheme(chosen);
  };
  return (
    <>
      <select
        aria-label={say('nav.language')}
        value={language}
        onChange={(event) => void changeLanguage(event.target.value as Language)}
      >
        {Object.entries(languages).map(([code, name]) => (
          <option key={code} value={code} lang={code}>
            {name}
          </option>
        ))}
      </select>
      <select
        aria-label={say('nav.theme')}
        value={theme}
        onChange={(event) => chooseTheme(event.target.value as Theme)}
      >
        {(['system', 'light', 'dark'] as const).map((each) => (
          <option key={each} value={each}>
            {say(`theme.${each}`)}
          </option>
        ))}
      </select>
    </>
  );
}
