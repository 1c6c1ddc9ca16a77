/** Where the page begins: key or code out of the address, colours, words, then the first view. */
import { createRoot } from 'react-dom/client';
import { takeKeyFromAddress } from './api/request.ts';
import { finishSignIn } from './api/sign-in.ts';
import { App } from './app.tsx';
import { applyTheme, readLanguage, readTheme } from './preferences.ts';
import { startWords } from './words/words.tsx';

takeKeyFromAddress();
applyTheme(readTheme());
const [hasCome] = await Promise.all([finishSignIn(), startWords(readLanguage())]);

const root = document.querySelector('#root');
if (root) createRoot(root).render(<App problem={hasCome ? undefined : 'signIn.failed'} />);
