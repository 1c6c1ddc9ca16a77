/** The filters of the list of runs, kept in the address, so that what one sees can be shared. */
import type { FormEvent } from 'react';
import { runStatuses, stopReasons } from '@pawl/contracts/words';
import { addressWith, goTo } from '../router.tsx';
import { useWords } from '../words/words.tsx';

const textNames = ['text', 'agent'] as const;
const moreNames = ['user', 'session', 'tool', 'minCost', 'minDurationMs'] as const;
const timeNames = ['from', 'to'] as const;
const choiceNames = ['status', 'stopReason'] as const;
const allNames = [...choiceNames, ...textNames, ...moreNames, ...timeNames] as const;
type FilterName = (typeof allNames)[number];
export type Filter = Record<FilterName, string>;

/** The filters of an address. */
export function filterOf(query: URLSearchParams): Filter {
  return Object.fromEntries(allNames.map((name) => [name, query.get(name) ?? ''])) as Filter;
}

type RunFiltersProps = { filter: Filter; query: URLSearchParams };

export function RunFilters({ filter, query }: RunFiltersProps) {
  const { say } = useWords();
  const hasMore = [...moreNames, ...timeNames].some((name) => filter[name] !== '');
  const change = (changes: Partial<Filter>) => goTo(addressWith(query, changes), { isSamePlace: true });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const valueOf = (name: FilterName) => {
      const value = form.get(name);
      return typeof value === 'string' ? storedValue(name, value) : '';
    };
    change(Object.fromEntries([...textNames, ...moreNames].map((name) => [name, valueOf(name)])));
  };
  return (
    <form className="filters" onSubmit={submit} aria-label={say('list.filters')}>
      <TextFilter name="text" filter={filter} onChange={change} />
      <Choice
        label={say('col.status')}
        list="status"
        values={runStatuses}
        value={filter.status}
        onChange={(status) => change({ status })}
      />
      <Choice
        label={say('col.stopReason')}
        list="stop"
        values={stopReasons}
        value={filter.stopReason}
        onChange={(stopReason) => change({ stopReason })}
      />
      <TextFilter name="agent" filter={filter} onChange={change} />
      <details className="more-filters" open={hasMore}>
        <summary>{say('filter.more')}</summary>
        <div>
          {moreNames.map((name) => (
            <TextFilter key={name} name={name} filter={filter} onChange={change} />
          ))}
          {timeNames.map((name) => (
            <TimeFilter key={name} name={name} filter={filter} onChange={change} />
          ))}
        </div>
      </details>
      <button type="submit" className="visually-hidden" tabIndex={-1}>
        {say('list.filters')}
      </button>
    </form>
  );
}

type FilterFieldProps<N extends FilterName> = { name: N; filter: Filter; onChange(changes: Partial<Filter>): void };

function TextFilter({ name, filter, onChange }: FilterFieldProps<'text' | 'agent' | (typeof moreNames)[number]>) {
  const { say } = useWords();
  return (
    <label>
      {say(`filter.${name}`)}
      <input
        key={filter[name]}
        name={name}
        defaultValue={shownValue(name, filter[name])}
        placeholder={say('list.any')}
        inputMode={name === 'minCost' || name === 'minDurationMs' ? 'decimal' : 'text'}
        spellCheck={false}
        autoComplete="off"
        dir="auto"
        onBlur={(event) => {
          const value = storedValue(name, event.target.value);
          if (value !== filter[name]) onChange({ [name]: value });
        }}
      />
    </label>
  );
}

/** In the address and the API a duration is in milliseconds, in the field in seconds. */
function shownValue(name: FilterName, value: string): string {
  return name === 'minDurationMs' && value !== '' ? String(Number(value) / 1_000) : value;
}

function storedValue(name: FilterName, text: string): string {
  const value = text.trim();
  if (name !== 'minDurationMs' || value === '') return value;
  const seconds = Number(value.replace(',', '.'));
  return Number.isFinite(seconds) ? String(Math.round(seconds * 1_000)) : '';
}

/** In the address and the API in UTC, in the field in the reader's own zone. */
function TimeFilter({ name, filter, onChange }: FilterFieldProps<(typeof timeNames)[number]>) {
  const { say } = useWords();
  const time = new Date(filter[name]);
  const local = Number.isNaN(time.getTime())
    ? ''
    : new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  return (
    <label>
      {say(`filter.${name}`)}
      <input
        type="datetime-local"
        defaultValue={local}
        onChange={(event) => {
          const { value } = event.target;
          onChange({ [name]: value === '' ? '' : new Date(value).toISOString() });
        }}
      />
    </label>
  );
}

type ChoiceProps = {
  label: string;
  list: string;
  values: readonly string[];
  value: string;
  onChange(value: string): void;
};

function Choice({ label, list, values, value, onChange }: ChoiceProps) {
  const { say, wordFor } = useWords();
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{say('list.all')}</option>
        {values.map((each) => (
          <option key={each} value={each}>
            {wordFor(list, each)}
          </option>
        ))}
      </select>
    </label>
  );
}
