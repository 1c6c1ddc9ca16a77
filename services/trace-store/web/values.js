/** Values as people read them: tables as tables, objects as lists of names and values, numbers digit for digit. */
import { element } from './element.js';
import { ExactNumber, parseExact, printExact } from './exact-json.js';
import { columnFormat, groupDigits, readableName, visibleText } from './format.js';

const rowsAtFirst = 50;
const charsAtFirst = 4_000;

/** A result's JSON text. */
export function showData(json) {
  const value = parseExact(json);
  if (value === undefined) return longText(json, 'pre');
  return showValue(value);
}

/** The arguments of a call: names and values; text that is no JSON object as it is. */
export function showArguments(text) {
  const value = parseExact(text === '' ? '{}' : text);
  if (!isRecord(value)) {
    return [
      element('p.hint', {}, 'These arguments are not a valid JSON object. This is what the model wrote:'),
      longText(text, 'pre'),
    ];
  }
  if (Object.keys(value).length === 0) return element('p.quiet', {}, 'without arguments');
  return nameValueList(value);
}

function showValue(value) {
  const table = tableOf(value);
  if (table) return showTable(table);
  if (isRecord(value)) return Object.keys(value).length === 0 ? nothing() : nameValueList(value);
  if (Array.isArray(value)) return value.length === 0 ? nothing() : showList(value);
  return showScalar(value);
}

function nothing() {
  return element('p.quiet', {}, 'nothing');
}

/** Objects in a row, either alone or as `rows` of an object, make a table. */
function tableOf(value) {
  if (Array.isArray(value)) return value.length > 0 && value.every(isRecord) ? { rows: value, leftOut: 0 } : undefined;
  if (!isRecord(value) || !Array.isArray(value.rows) || !value.rows.every(isRecord)) return undefined;
  const columns = Array.isArray(value.columns) ? value.columns.filter((name) => typeof name === 'string') : undefined;
  return { rows: value.rows, columns, leftOut: Number(value.rowsLeftOut ?? 0), count: value.rowCount };
}

function showTable({ rows, columns, leftOut, count }) {
  if (rows.length === 0) return element('p.quiet', {}, 'No rows were found.');
  const names = columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (rows.length === 1 && names.length > 4) return nameValueList(rows[0], names);
  const formats = names.map((name) => formatOfColumn(name, rows));
  const body = element('tbody');
  const addRows = (from, to) => {
    for (const row of rows.slice(from, to)) {
      body.append(
        element(
          'tr',
          {},
          names.map((name, at) => showCell(row[name], formats[at])),
        ),
      );
    }
  };
  addRows(0, rowsAtFirst);
  const head = element(
    'tr',
    {},
    names.map((name, at) =>
      element(
        'th',
        { scope: 'col', class: formats[at] ? 'number' : null, title: name, dir: 'auto' },
        readableName(name),
      ),
    ),
  );
  const table = element('table', {}, element('thead', {}, head), body);
  const parts = [element('div.scroll', { tabindex: 0, role: 'group', 'aria-label': 'Table, scrolls sideways' }, table)];
  if (rows.length > rowsAtFirst) {
    parts.push(showMoreButton(`Show all ${rows.length} rows`, () => addRows(rowsAtFirst)));
  }
  if (leftOut > 0) {
    parts.push(
      element(
        'p.hint',
        {},
        `${groupDigits(String(leftOut))} of ${groupDigits(String(count ?? leftOut + rows.length))} rows in the middle are left out here.`,
      ),
    );
  }
  return parts;
}

/** How a column's numbers are written, or undefined when it holds anything but numbers. */
function formatOfColumn(name, rows) {
  const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
  if (values.length === 0 || !values.every((value) => value instanceof ExactNumber)) return undefined;
  return columnFormat(
    name,
    values.map((value) => value.text),
  );
}

function showCell(value, format) {
  if (value === null || value === undefined) return element('td.empty', {}, '–');
  if (format)
    return element(
      'td.number',
      { class: value.text.startsWith('-') ? 'number negative' : 'number' },
      format(value.text),
    );
  return element('td', { dir: 'auto' }, inlineText(value));
}

function nameValueList(record, names = Object.keys(record)) {
  const rows = names.map((name) => {
    const value = record[name];
    const isLong = typeof value === 'string' && (value.includes('\n') || value.length > 120);
    const shown = isLong
      ? longText(value, 'pre')
      : typeof value === 'object' && !(value instanceof ExactNumber) && value !== null
        ? showNested(value)
        : showInline(name, value);
    return element(
      'div',
      { class: isLong ? 'wide' : null },
      element('dt', { dir: 'auto', title: name }, readableName(name)),
      element('dd', { dir: 'auto' }, shown),
    );
  });
  return element('dl.pairs', {}, rows);
}

function showNested(value) {
  if (
    Array.isArray(value) &&
    value.every((item) => typeof item !== 'object' || item === null || item instanceof ExactNumber)
  ) {
    return value.map((item) => inlineText(item)).join(', ');
  }
  return longText(printExact(value), 'pre');
}

function showInline(name, value) {
  if (value === null || value === undefined) return element('span.quiet', {}, 'none');
  return value instanceof ExactNumber ? columnFormat(name, [value.text])(value.text) : inlineText(value);
}

function showList(values) {
  return element(
    'ul.plain',
    {},
    values
      .slice(0, 200)
      .map((value) =>
        element(
          'li',
          { dir: 'auto' },
          typeof value === 'object' && value !== null && !(value instanceof ExactNumber)
            ? longText(printExact(value), 'pre')
            : inlineText(value),
        ),
      ),
  );
}

function showScalar(value) {
  if (typeof value === 'string') return longText(value, 'p');
  if (value instanceof ExactNumber) return element('p.figure', {}, groupDigits(value.text));
  return element('p', {}, inlineText(value));
}

function inlineText(value) {
  if (typeof value === 'string') return visibleText(value);
  if (value instanceof ExactNumber) return groupDigits(value.text);
  if (value === true) return 'yes';
  if (value === false) return 'no';
  return value === null ? 'none' : visibleText(printExact(value));
}

/** A text in full, its far end behind a button when it is very long. */
export function longText(text, kind) {
  const node = element(kind, { class: 'long', dir: 'auto' }, visibleText(text.slice(0, charsAtFirst)));
  if (text.length <= charsAtFirst) return node;
  const rest = `Show all ${groupDigits(String(text.length))} characters`;
  return [node, showMoreButton(rest, () => (node.textContent = visibleText(text)))];
}

function showMoreButton(label, onMore) {
  const button = element('button.more', { type: 'button', click: () => (onMore(), button.remove()) }, label);
  return button;
}

function isRecord(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}
