/** The filters of the list of runs, kept in the address, so that what one sees can be shared. */
import type { FormEvent } from 'react';
import { addressWith, goTo } from '../router.tsx';
import { useWords } from '../words/words.tsx';

const textNames = ['text', 'agent'] as const;
const moreNames = ['user', 'session', 'tool', 'minCost'] as const;
const timeNames = ['from', 'to'] as const;
const choiceNames = ['status', 'stopReason'] as const;
const allNames = [...choiceNames, ...textNames, ...moreNames, ...timeNames] as const;
type FilterName = (typeof allNames)[number];
export type Filter = Record<FilterName, string>;

const statuses = ['running', 'waiting', 'paused', 'ended'] as const;
const reasons = [
  'final_answer',
  'max_steps',
  'max_tool_calls',
  'max_tokens',
  'max_spend',
  'deadline',
  'repeated_action',
  'no_new_information',
  'approval_denied',
  'approval_expired',
  'waiting_approval',
  'waiting_input',
  'cancelled',
  'model_unavailable',
  'residency_blocked',
  'policy_blocked',
  'invalid_answer',
  'internal_error',
] as const;

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
      return typeof value === 'string' ? value.trim() : '';
    };
    change(Object.fromEntries([...textNames, ...moreNames].map((name) => [name, valueOf(name)])));
  };
  return (
    <form className="filters" onSubmit={submit} aria-label={say('list.filters')}>
      <TextFilter name="text" filter={filter} onChange={change} />
      <Choice
        label={say('col.status')}
        list="status"
        values={statuses}
        value={filter.status}
        onChange={(status) => change({ status })}
      />
      <Choice
        label={say('col.stopReason')}
        list="stop"
        values={reasons}
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
        defaultValue={filter[name]}
        placeholder={say('list.any')}
        inputMode={name === 'minCost' ? 'decimal' : 'text'}
        spellCheck={false}
        autoComplete="off"
        dir="auto"
        onBlur={(event) => {
          const value = event.target.value.trim();
          if (value !== filter[name]) onChange({ [name]: value });
        }}
      />
    </label>
  );
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
