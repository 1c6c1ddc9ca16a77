/** A result's table, with a chart where people would rather look than read. */
import { useState, type ReactNode } from 'react';
import { ExactNumber, isScalar, printExact, type ExactRecord, type ExactValue } from '../record/exact-json.ts';
import { readableName } from '../record/format.ts';
import { chartOf, type Column, type Table } from '../record/table.ts';
import { useWords } from '../words/words.tsx';
import { SeriesChart, ValueBar } from './chart.tsx';
import { LongText } from './long-text.tsx';
import { inlineText } from './inline-text.ts';

const rowsAtFirst = 50;

type Format = ((text: string) => string) | undefined;

/** `isPlain`: without a chart, where its rows are not of one kind. */
export function DataTable({ table, isPlain = false }: { table: Table; isPlain?: boolean }) {
  const { say, count, column } = useWords();
  const [isWhole, setWhole] = useState(false);
  const { columns, rows, leftOut } = table;
  if (rows.length === 0) return <p className="quiet">{say('value.noRows')}</p>;
  const chart = isPlain ? undefined : chartOf(table);
  const formats = columns.map(({ name, isNumber }): Format =>
    isNumber ? column(name, textsOf(rows, name)) : undefined,
  );
  const shown = isWhole ? rows : rows.slice(0, rowsAtFirst);
  const bars = chart?.kind === 'bars' ? chart : undefined;
  return (
    <>
      {chart?.kind === 'series' && <SeriesChart chart={chart} />}
      <div className="scroll" tabIndex={0} role="group" aria-label={say('value.table')}>
        <table>
          <thead>
            <tr>
              {columns.map((each) => (
                <HeadCell key={each.name} column={each} hasBar={each.name === bars?.column} />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, at) => (
              <tr key={at}>
                {columns.map(({ name }, place) => (
                  <Cell key={name} value={row[name]} format={formats[place]}>
                    {name === bars?.column && <ValueBar values={bars.values} at={at} />}
                  </Cell>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length && (
        <button type="button" className="more" onClick={() => setWhole(true)}>
          {say('value.allRows', { count: rows.length })}
        </button>
      )}
      {leftOut > 0 && (
        <p className="hint">{say('value.leftOut', { shown: count(leftOut), total: count(table.count) })}</p>
      )}
    </>
  );
}

function HeadCell({ column, hasBar }: { column: Column; hasBar: boolean }) {
  const className = [column.isNumber ? 'number' : '', hasBar ? 'with-bar' : ''].join(' ').trim();
  return (
    <th scope="col" className={className || undefined} title={column.name} dir="auto">
      {readableName(column.name)}
    </th>
  );
}

type CellProps = { value: ExactValue | undefined; format: Format; children: ReactNode };

function Cell({ value, format, children }: CellProps) {
  const words = useWords();
  if (value === null || value === undefined) return <td className="empty">–</td>;
  if (format && value instanceof ExactNumber) {
    return (
      <td className={value.text.startsWith('-') ? 'number negative' : 'number'}>
        {children ? (
          <span className="bar-cell">
            {children}
            <span>{format(value.text)}</span>
          </span>
        ) : (
          format(value.text)
        )}
      </td>
    );
  }
  return <td dir="auto">{isScalar(value) ? inlineText(value, words) : <LongText text={printExact(value)} />}</td>;
}

function textsOf(rows: readonly ExactRecord[], name: string): string[] {
  return rows.flatMap((row) => (row[name] instanceof ExactNumber ? [row[name].text] : []));
}
