/**
 * `:name` in SQL → `$1`. Text in quotes, quoted identifiers, comments and dollar quotes stay as they are, and `::type` is a cast.
 * Pure. A slice of an array needs a space after its colon (`a[1: n]`), or its bound reads as a parameter.
 */

export type NumberedSql = {
  text: string;
  /** Names in the order of their numbers; a name that occurs twice has one number. */
  names: string[];
};

/**
 * What SQL is made of, as far as a colon may hide in it, tried in this order at every position: comments, E'' texts with
 * backslashes, texts, quoted identifiers, dollar quotes, casts and assignments, parameters, words (so that `e` in `name'`
 * or `$` in `a$b$` begins nothing).
 */
const token = new RegExp(
  [
    String.raw`--[^\n]*`,
    String.raw`/\*`,
    String.raw`[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)`,
    String.raw`'(?:[^']|'')*(?:'|$)`,
    String.raw`"(?:[^"]|"")*(?:"|$)`,
    String.raw`\$(?:[A-Za-z_\u0080-\uFFFF][A-Za-z0-9_\u0080-\uFFFF]*)?\$`,
    String.raw`::|:=`,
    String.raw`:(?<name>[A-Za-z_][A-Za-z0-9_]*)`,
    String.raw`[A-Za-z_\u0080-\uFFFF][A-Za-z0-9_$\u0080-\uFFFF]*`,
  ].join('|'),
  'gy',
);

/** Numbers the named parameters of one SQL text. Unfinished quotes and comments reach to the end, as in Postgres. */
export function numberParameters(sql: string): NumberedSql {
  const names: string[] = [];
  const pieces: string[] = [];
  let at = 0;
  while (at < sql.length) {
    token.lastIndex = at;
    const match = token.exec(sql);
    if (!match) {
      pieces.push(sql.charAt(at));
      at += 1;
      continue;
    }
    const name = match.groups?.['name'];
    if (name === undefined) {
      const end = endOfToken(sql, at, match[0]);
      pieces.push(sql.slice(at, end));
      at = end;
    } else {
      if (!names.includes(name)) names.push(name);
      pieces.push(`$${names.indexOf(name) + 1}`);
      at += match[0].length;
    }
  }
  return { text: pieces.join(''), names };
}

function endOfToken(sql: string, start: number, opening: string): number {
  if (opening === '/*') return endOfComment(sql, start);
  if (!opening.startsWith('$')) return start + opening.length;
  const end = sql.indexOf(opening, start + opening.length);
  return end === -1 ? sql.length : end + opening.length;
}

/** Comments nest in Postgres. */
function endOfComment(sql: string, start: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(sql); mark; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return sql.length;
}
