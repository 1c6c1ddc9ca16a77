/** The cards of a run: thinking, operation, result, conclusion, and what is missing. */
import { fetchBody } from './api.js';
import { element, icon } from './element.js';
import { costOfNano, formatCost, formatCount, formatDuration, formatTime, visibleText } from './format.js';
import { showProse } from './prose.js';
import { thoughtParts } from './story.js';
import { longText, showArguments, showData } from './values.js';
import { observationWords, purposeWords, stopReasonWords, unreadableWords, wordsOf } from './words.js';

const partTitles = { known: 'Known', missing: 'Missing', next: 'Next' };

export function thinkingCard(record) {
  const title = purposeWords[record.purpose] ?? 'Agent Thinking';
  return withBody(record, (body) =>
    card('thinking', { title, aside: formatDuration(record.durationMs) }, [
      body.outcome === 'failed' ? failedThought(body) : showThought(body.text),
      thoughtDetails(record, body),
    ]),
  );
}

function showThought(text) {
  const parts = thoughtParts(text);
  if (!parts)
    return text.trim() === ''
      ? element('p.quiet', {}, 'No words, only actions.')
      : element('div.prose', {}, showProse(text));
  return element(
    'dl.thought',
    {},
    parts.map(({ name, text: said }) =>
      element('div', {}, element('dt', {}, partTitles[name]), element('dd', { dir: 'auto' }, showProse(said))),
    ),
  );
}

function failedThought(body) {
  return element('p.problem', { dir: 'auto' }, visibleText(body.error?.message ?? 'The model gave no answer.'));
}

export function thoughtDetails(record, body) {
  const { route } = body;
  return details(record.slot, [
    ['Model', route ? `${route.model} (${route.provider}${route.region ? `, ${route.region}` : ''})` : null],
    ['Why this model', route?.routeReason],
    [
      'Tokens',
      record.tokens ? `${formatCount(record.tokens.input)} in, ${formatCount(record.tokens.output)} out` : null,
    ],
    [
      'Cost',
      record.costNanoUsd
        ? `${formatCost(costOfNano(record.costNanoUsd))}${body.costBasis === 'estimated' ? ' (estimated)' : ''}`
        : null,
    ],
    ['First word after', body.firstTokenMs === undefined ? null : formatDuration(body.firstTokenMs)],
    ['Started', formatTime(record.startedAt)],
    ['Span', record.spanId],
  ]);
}

export function operationCard(call) {
  const content = [element('p.tool', {}, element('code', {}, call.tool ?? 'unknown tool'))];
  if (call.args === undefined) content.push(element('p.quiet', {}, 'The arguments were not received.'));
  else content.push(showArguments(call.args));
  if (call.approval) content.push(element('p.hint', {}, `A person decided: ${call.approval.status}.`));
  return card('operation', { title: 'Operation Executed' }, content);
}

export function resultCard(call) {
  if (call.state === 'running') {
    return card(
      'result',
      { title: 'Result Obtained', chip: chip('Running', 'live') },
      element('p.quiet', {}, 'Waiting for the result…'),
    );
  }
  if (!call.observed) return lostCard(call.lost ?? { slot: call.slot, state: call.state }, 'Result Obtained');
  return withBody(call.observed, (body) => observedCard(call.observed, body));
}

function observedCard(record, { observation, rawError, trust, attempt }) {
  const words = wordsOf(observationWords, observation.status);
  const content = [];
  if (observation.message)
    content.push(
      element(observation.status === 'ok' ? 'p' : 'p.problem', { dir: 'auto' }, visibleText(observation.message)),
    );
  if (observation.suggestion)
    content.push(
      element(
        'p.suggestion',
        { dir: 'auto' },
        element('strong', {}, 'What to try: '),
        visibleText(observation.suggestion),
      ),
    );
  if (observation.data !== null) content.push(showData(observation.data));
  if (observation.truncated)
    content.push(
      element(
        'p.hint',
        {},
        'Shortened: only a part of the result is shown here, as the model saw it. The whole result is kept.',
      ),
    );
  if (content.length === 0) content.push(element('p.quiet', {}, 'nothing'));
  content.push(
    details(record.slot, [
      ['Trust', trust === 'untrusted' ? 'may hold anybody’s words' : 'from the app’s own systems'],
      ['Error code', observation.errorCode],
      ['Raw error', rawError],
      ['Attempt', attempt > 1 ? attempt : null],
      ['Whole result', observation.ref],
      ['Started', formatTime(record.startedAt)],
      ['Span', record.spanId],
    ]),
  );
  const tone = ['bad', 'warn'].includes(words.tone) ? `result ${words.tone}` : 'result';
  return card(
    tone,
    { title: 'Result Obtained', aside: formatDuration(record.durationMs), chip: chip(words.label, words.tone) },
    content,
  );
}

/** The end of a run: its answer, why it ended, and what it took. */
export function conclusionCard(run, last) {
  const words = wordsOf(stopReasonWords, run.stopReason);
  const content = [
    run.answer === null || run.answer.trim() === ''
      ? element('p.quiet', {}, 'There is no answer.')
      : element('div.prose.answer', {}, showProse(run.answer)),
    run.partial && run.answer !== null
      ? element('p.hint', {}, 'This answer is partial: it is the best one so far, not the whole of what was asked for.')
      : null,
    element(
      'p.reason',
      { dir: 'auto' },
      chip(words.label, words.tone),
      ' ',
      words.sentence,
      run.stopReason === 'final_answer' || !run.detail ? '' : ` ${visibleText(run.detail)}`,
    ),
    totals(run),
    element(
      'p.trace-id',
      {},
      element('span', {}, 'Trace id '),
      element('code', {}, run.traceId ?? 'unknown'),
      run.traceId ? copyButton(run.traceId) : null,
    ),
    last?.body ? thoughtDetails(last, last.body) : null,
  ];
  return card('conclusion', { title: 'Analysis Conclusion' }, content);
}

/** What a run took, as figures. */
export function totals(run) {
  const figures = [
    ['Steps', formatCount(run.steps)],
    ['Tool calls', formatCount(run.toolCalls)],
    ['Tokens', formatCount(run.tokens)],
    ['Cost', formatCost(run.cost)],
    ['Duration', formatDuration(run.durationMs)],
  ];
  return element(
    'dl.totals',
    {},
    figures.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value))),
  );
}

function copyButton(text) {
  const button = element(
    'button.copy',
    {
      type: 'button',
      click: async () => {
        await navigator.clipboard.writeText(text);
        button.textContent = 'Copied';
      },
    },
    'Copy',
  );
  return button;
}

/** A record that must have been there, or came and could not be kept. */
export function lostCard({ slot, state, reason, sizeBytes }, title) {
  const sentence =
    state === 'unreadable'
      ? `This record came, but could not be kept: ${unreadableWords[reason] ?? reason} (${formatCount(sizeBytes)} bytes).`
      : 'This record is missing. It was written or should have been, but never arrived here.';
  return card('lost', { title, chip: chip(state === 'unreadable' ? 'Not readable' : 'Missing', 'warn') }, [
    element('p', {}, sentence),
    element('p.quiet', {}, 'Record ', element('code', {}, slot)),
  ]);
}

/** A line between the cards: a signal, a pause, a decision to cancel. */
export function noteLine(record) {
  return withBody(record, (body) =>
    element(
      'p.note',
      { dir: 'auto' },
      icon('note'),
      element('span', {}, noteText(record.kind, body)),
      element('span.quiet', {}, formatTime(record.at)),
    ),
  );
}

function noteText(kind, body) {
  if (kind === 'signal') return `Message from ${body.by}: ${visibleText(body.text ?? body.data ?? '')}`;
  if (kind === 'cancel') return `Cancelled by ${body.by}${body.reason ? `: ${visibleText(body.reason)}` : ''}`;
  if (kind === 'paused') return wordsOf(stopReasonWords, body.stopReason).sentence;
  if (kind === 'resumed') return 'The run went on.';
  return kind;
}

export function chip(label, tone) {
  return element('span.chip', { 'data-tone': tone }, label);
}

function card(kind, { title, aside, chip: chipNode }, content) {
  const [name] = kind.split(' ');
  const head = element(
    'header',
    {},
    icon(name === 'lost' ? 'missing' : name),
    element(name === 'conclusion' ? 'h2' : 'h3', {}, title),
    chipNode ?? null,
    aside ? element('span.aside', {}, aside) : null,
  );
  return element('section', { class: `card ${kind}` }, head, element('div.card-body', {}, content));
}

function details(slot, pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const rows = shown.map(([name, value]) =>
    element(
      'div',
      {},
      element('dt', {}, name),
      element(
        'dd',
        { dir: 'auto' },
        String(value).length > 200 ? longText(String(value), 'pre') : visibleText(String(value)),
      ),
    ),
  );
  return element('details', { 'data-slot': slot }, element('summary', {}, 'Details'), element('dl.pairs', {}, rows));
}

/** Shows a record at once, or behind a button when its body is too large to come with the run. */
function withBody(record, show) {
  if (record.body !== undefined) return show(record.body);
  const holder = element(
    'section.card.lost',
    {},
    element('p', {}, 'This part is large and is loaded only when you want to see it.'),
  );
  const load = async () => {
    button.disabled = true;
    try {
      holder.replaceWith(show(await fetchBody(record.bodyRef)));
    } catch (error) {
      button.disabled = false;
      button.textContent = `${error.message} Try again`;
    }
  };
  const button = element('button.more', { type: 'button', click: load }, 'Load it');
  holder.append(button);
  return holder;
}
