/** The key figures of a large table: what changed most, what each column holds, some of the rows. */
import { readableName, visibleText } from '../record/format.ts';
import type { KeyFigures } from '../record/key-figures.ts';
import type { Table } from '../record/table.ts';
import { useWords } from '../words/words.tsx';
import { DataTable } from './data-table.tsx';

export function ShownKeyFigures({ figures }: { figures: KeyFigures }) {
  const { say, count } = useWords();
  const { numbers, texts, changes, samples } = figures;
  return (
    <div className="key-figures">
      <p>{say('figures.rows', { count: figures.count, shown: count(figures.count) })}</p>
      {changes && <Part title={say('figures.changes')} table={changes} />}
      {numbers && <Part title={say('figures.numbers')} table={numbers} isPlain />}
      {texts.length > 0 && (
        <dl className="pairs">
          {texts.map((column) => (
            <div key={column.name}>
              <dt dir="auto">{readableName(column.name)}</dt>
              <dd dir="auto">
                <ColumnOfTexts column={column} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {samples && <Part title={say('figures.samples')} table={samples} isPlain />}
    </div>
  );
}

type PartProps = { title: string; table: Table; isPlain?: boolean };

function Part({ title, table, isPlain = false }: PartProps) {
  return (
    <div>
      <p className="quiet small">{title}</p>
      <DataTable table={table} isPlain={isPlain} />
    </div>
  );
}

function ColumnOfTexts({ column: { distinct, top, range } }: { column: KeyFigures['texts'][number] }) {
  const { say, digits } = useWords();
  const parts = [
    say('figures.distinct', { count: Number(distinct), shown: digits(distinct) }),
    range.map(visibleText).join(' – '),
    top.map(({ value, count }) => `${visibleText(value)} (${digits(count)})`).join(', '),
  ];
  return parts.filter((part) => part !== '').join(': ');
}
