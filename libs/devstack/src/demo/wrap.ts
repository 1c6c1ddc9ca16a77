/** Lines of limited width. Pure. */

/** Lines of at most `width` characters, broken between words where possible. */
export function wrap(text: string, width: number): string[] {
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrapLine(line, Math.max(width, 20)));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let rest = line.replaceAll('\t', '  ');
  while (rest.length > width) {
    // JSON has no spaces; it may break after a comma.
    const space = Math.max(rest.lastIndexOf(' ', width), rest.lastIndexOf(',', width - 1) + 1);
    const cut = space > width / 2 ? space : width;
    lines.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return [...lines, rest];
}
