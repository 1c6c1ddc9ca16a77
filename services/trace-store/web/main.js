/** The page: takes the key, finds out what to show, and says so when it can't. */
import { ApiError, forgetKey, getKey, setKey, takeKeyFromAddress } from './api.js';
import { element } from './element.js';
import { showRunList } from './run-list.js';
import { showRun } from './run-view.js';

const main = document.getElementById('content');

async function show() {
  takeKeyFromAddress();
  showKeyState();
  if (!getKey()) return showKeyForm();
  const runId = /^\/runs\/([^/]+)$/.exec(location.pathname)?.[1];
  try {
    await (runId ? showRun(main, decodeURIComponent(runId)) : showRunList(main));
  } catch (error) {
    showFailure(error);
  }
}

function showFailure(error) {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401 || error.status === 403) {
    forgetKey();
    showKeyState();
    return showKeyForm(error.status === 401 ? 'This key is unknown or has expired.' : error.message);
  }
  const isMissing = error.status === 404;
  main.replaceChildren(
    element(
      'div.empty-list',
      {},
      element('h1', {}, isMissing ? 'There is no such run' : 'This did not work'),
      element('p.quiet', {}, isMissing ? 'The app of your key has no run with this address.' : error.message),
      element(
        'p',
        {},
        element('a', { href: '/runs' }, 'Show all runs'),
        ' or ',
        element('a', { href: location.pathname }, 'try again'),
      ),
    ),
  );
}

function showKeyForm(problem) {
  const input = element('input', {
    id: 'key',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
    'aria-describedby': 'key-help',
  });
  const submit = (event) => {
    event.preventDefault();
    setKey(input.value);
    void show();
  };
  main.replaceChildren(
    element(
      'form.key-form',
      { submit },
      element('h1', {}, 'See what your agents did'),
      element(
        'p',
        {},
        'Every run, from the question to the answer: what the agent thought, what it did, and what it found.',
      ),
      problem ? element('p.problem', { role: 'alert' }, problem) : null,
      element('label', { for: 'key' }, 'Key of your app'),
      element('div.key-row', {}, input, element('button', { type: 'submit' }, 'Open')),
      element(
        'p.quiet',
        { id: 'key-help' },
        element('code', {}, 'npm run dev'),
        ' and ',
        element('code', {}, 'npm run demo'),
        ' print a key and write it to ',
        element('code', {}, '.pawl/dev.json'),
        ' (apps, demo, key). Elsewhere, ask whoever runs Pawl for a key with the scope ',
        element('code', {}, 'traces'),
        '. The key stays in this tab and is forgotten when you close it.',
      ),
    ),
  );
  input.focus();
}

function showKeyState() {
  const forget = () => {
    forgetKey();
    location.assign('/runs');
  };
  document
    .getElementById('key-state')
    .replaceChildren(...(getKey() ? [element('button.link', { type: 'button', click: forget }, 'Change key')] : []));
}

addEventListener('hashchange', () => {
  if (location.hash.startsWith('#key=')) void show();
});
void show();
