/** The list of runs, newest first, with filters; the first page keeps itself up to date. */
import { fetchRuns } from './api.js';
import { element } from './element.js';
import { formatAge, formatCost, formatCount, formatDuration, formatTime, visibleText } from './format.js';
import { statusChip } from './run-view.js';
import { runStatusWords, stopReasonWords } from './words.js';

const refreshMs = 3_000;

/** Shows the list in `main`. Throws what the first request threw. */
export async function showRunList(main) {
  document.title = 'Runs · Pawl';
  const filter = Object.fromEntries(
    ['agent', 'status', 'stopReason'].map((name) => [name, new URLSearchParams(location.search).get(name) ?? '']),
  );
  const body = element('tbody');
  const empty = element('div.empty-list', { hidden: true });
  const more = element('button.more', { type: 'button', hidden: true }, 'Show older runs');
  const table = element(
    'table.runs',
    {},
    element('caption.visually-hidden', {}, 'Runs, newest first'),
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        columns.map(({ title, kind }) => element('th', { scope: 'col', class: kind ?? null }, title)),
      ),
    ),
    body,
  );
  let next = null;
  let pages = 1;

  const showFirst = async () => {
    const page = await fetchRuns(filter);
    if (pages > 1) return;
    next = page.next;
    body.replaceChildren(...page.items.map(runRow));
    table.hidden = page.items.length === 0;
    empty.hidden = page.items.length > 0;
    more.hidden = next === null;
  };
  more.addEventListener('click', async () => {
    pages += 1;
    more.disabled = true;
    const page = await fetchRuns(filter, next).finally(() => (more.disabled = false));
    next = page.next;
    body.append(...page.items.map(runRow));
    more.hidden = next === null;
  });

  empty.append(...emptyWords(Object.values(filter).some((value) => value !== '')));
  const head = element('div.list-head', {}, element('h1', {}, 'Runs'), filterForm(filter));
  await showFirst();
  main.replaceChildren(head, table, empty, more);
  setInterval(() => {
    if (!document.hidden && !body.contains(document.activeElement)) void showFirst().catch(() => undefined);
  }, refreshMs);
}

const columns = [
  { title: 'Question' },
  { title: 'Status' },
  { title: 'Steps', kind: 'number' },
  { title: 'Cost', kind: 'number' },
  { title: 'Duration', kind: 'number' },
  { title: 'Started' },
];

function runRow(run) {
  const question = visibleText(run.question ?? 'The question is missing');
  return element(
    'tr',
    {},
    element(
      'td.question',
      {},
      element('a', { href: `/runs/${encodeURIComponent(run.id)}`, dir: 'auto' }, question),
      element('span.quiet', {}, run.agent ?? 'unknown agent'),
    ),
    element('td', { 'data-label': 'Status' }, statusChip(run)),
    element('td.number', { 'data-label': 'Steps' }, formatCount(run.steps)),
    element('td.number', { 'data-label': 'Cost' }, formatCost(run.cost)),
    element('td.number', { 'data-label': 'Duration' }, formatDuration(run.durationMs)),
    element(
      'td',
      { 'data-label': 'Started' },
      run.startedAt
        ? element(
            'time',
            { datetime: run.startedAt, title: formatTime(run.startedAt) },
            formatAge(run.startedAt, Date.now()),
          )
        : '–',
    ),
  );
}

function emptyWords(isFiltered) {
  if (isFiltered)
    return [
      element('h2', {}, 'No run fits'),
      element(
        'p.quiet',
        {},
        'No run of this app has what you chose above. ',
        element('a', { href: '/runs' }, 'Show all runs'),
      ),
    ];
  return [
    element('h2', {}, 'No runs yet'),
    element('p.quiet', {}, 'As soon as an agent of this app is started, its run shows up here by itself.'),
  ];
}

function filterForm(filter) {
  const choice = (name, label, words) =>
    element(
      'label',
      {},
      label,
      element(
        'select',
        { name, change: (event) => event.target.form.requestSubmit() },
        element('option', { value: '' }, 'All'),
        Object.entries(words).map(([value, word]) =>
          element('option', { value, selected: filter[name] === value }, word.label),
        ),
      ),
    );
  const submit = (event) => {
    event.preventDefault();
    const chosen = [...new FormData(event.target)].filter(([, value]) => value !== '');
    location.assign(`/runs${chosen.length > 0 ? `?${new URLSearchParams(chosen)}` : ''}`);
  };
  return element(
    'form.filters',
    { submit, 'aria-label': 'Filter the runs' },
    choice('status', 'Status', runStatusWords),
    choice('stopReason', 'Stop reason', stopReasonWords),
    element(
      'label',
      {},
      'Agent',
      element('input', { name: 'agent', value: filter.agent, placeholder: 'any', spellcheck: 'false' }),
    ),
  );
}
