/** Values as people read them: tables as tables, objects as lists of names and values, numbers digit for digit. */
import { Fragment } from 'react';
import {
  ExactNumber,
  isExactRecord,
  isScalar,
  parseExact,
  printExact,
  type ExactRecord,
  type ExactValue,
} from '../record/exact-json.ts';
import { readableName, visibleText } from '../record/format.ts';
import { keyFiguresOf } from '../record/key-figures.ts';
import { skillStepsOf, type SkillStep } from '../record/skill-steps.ts';
import { tableOf, type Table } from '../record/table.ts';
import { useWords } from '../words/words.tsx';
import { Chip, toneOfObservation } from './chip.tsx';
import { DataTable } from './data-table.tsx';
import { inlineText } from './inline-text.ts';
import { ShownKeyFigures } from './key-figures.tsx';
import { LongText } from './long-text.tsx';

const itemsMax = 200;

/** A result's JSON text. */
export function Value({ json }: { json: string }) {
  const value = parseExact(json);
  if (value === undefined) return <LongText text={json} />;
  return <ShownValue value={value} />;
}

/** The arguments of a call: names and values; text that is no JSON object as it is. */
export function Arguments({ text }: { text: string }) {
  const { say } = useWords();
  const value = parseExact(text === '' ? '{}' : text);
  if (!isExactRecord(value)) {
    return (
      <>
        <p className="hint">{say('call.argumentsInvalid')}</p>
        <LongText text={text} />
      </>
    );
  }
  if (Object.keys(value).length === 0) return <p className="quiet">{say('call.noArguments')}</p>;
  return <Pairs record={value} />;
}

function ShownValue({ value }: { value: ExactValue }) {
  const words = useWords();
  const steps = skillStepsOf(value);
  if (steps) return <SkillSteps steps={steps} />;
  const figures = keyFiguresOf(value);
  if (figures) return <ShownKeyFigures figures={figures} />;
  const table = tableOf(value);
  if (table) return <WholeTable table={table} />;
  if (isScalar(value)) return <Scalar value={value} />;
  const isEmpty = Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
  if (isEmpty) return <p className="quiet">{words.say('value.nothing')}</p>;
  if (!Array.isArray(value)) return <Pairs record={value} />;
  return (
    <ul className="plain">
      {value.slice(0, itemsMax).map((item, at) => (
        <li key={at} dir="auto">
          {isScalar(item) ? inlineText(item, words) : <LongText text={printExact(item)} />}
        </li>
      ))}
    </ul>
  );
}

/** The calls that a skill made, one within the other's result. */
function SkillSteps({ steps }: { steps: SkillStep[] }) {
  const { wordFor } = useWords();
  return (
    <ol className="skill-steps">
      {steps.map(({ name, tool, status, args, data, message }, at) => (
        <li key={at}>
          <p className="tool">
            <code>{visibleText(tool)}</code> <span className="quiet">{readableName(name)}</span>{' '}
            <Chip tone={toneOfObservation(status)}>{wordFor('observation', status)}</Chip>
          </p>
          {args && Object.keys(args).length > 0 && <Pairs record={args} />}
          {message !== undefined && <p dir="auto">{visibleText(message)}</p>}
          {data !== undefined && <ShownValue value={data} />}
        </li>
      ))}
    </ol>
  );
}

/** A table, and what is said beside it. */
function WholeTable({ table }: { table: Table }) {
  return (
    <>
      {Object.keys(table.rest).length > 0 && <Pairs record={table.rest} />}
      <DataTable table={table} />
    </>
  );
}

function Scalar({ value }: { value: string | boolean | null | ExactNumber }) {
  const words = useWords();
  if (typeof value === 'string') return <LongText text={value} as="p" />;
  if (value instanceof ExactNumber) return <p className="figure">{words.digits(value.text)}</p>;
  return <p>{inlineText(value, words)}</p>;
}

/** An object as names and values. */
export function Pairs({ record }: { record: ExactRecord }) {
  return (
    <dl className="pairs">
      {Object.entries(record).map(([name, value]) => {
        const isLong = typeof value === 'string' && (value.includes('\n') || value.length > 120);
        return (
          <div key={name} className={isLong ? 'wide' : undefined}>
            <dt dir="auto" title={name}>
              {readableName(name)}
            </dt>
            <dd dir="auto">
              <PairValue name={name} value={value} isLong={isLong} />
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function PairValue({ name, value, isLong }: { name: string; value: ExactValue; isLong: boolean }) {
  const words = useWords();
  if (isLong) return <LongText text={typeof value === 'string' ? value : printExact(value)} />;
  if (value === null) return <span className="quiet">{words.say('value.none')}</span>;
  if (value instanceof ExactNumber) return words.column(name, [value.text])(value.text);
  if (isScalar(value)) return inlineText(value, words);
  const table = tableOf(value);
  if (table) return <WholeTable table={table} />;
  if (Array.isArray(value) && value.every(isScalar)) {
    return value.map((item, at) => (
      <Fragment key={at}>
        {at > 0 && ', '}
        {inlineText(item, words)}
      </Fragment>
    ));
  }
  return <LongText text={printExact(value)} />;
}
