/** Where the page begins: key out of the address, colours, words, then the first view. */
import { createRoot } from 'react-dom/client';
import { takeKeyFromAddress } from './api/request.ts';
import { App } from './app.tsx';
import { applyTheme, readLanguage, readTheme } from './preferences.ts';
import { startWords } from './words/words.tsx';

takeKeyFromAddress();
applyTheme(readTheme());
await startWords(readLanguage());

const root = document.querySelector('#root');
if (root) createRoot(root).render(<App />);
