/**
 * What a model wrote, cut into the few forms of Markdown that models use: headings, lists, bold, code. Everything else,
 * links and markup included, stays plain text. Pure.
 */

export type ProseBlock =
  | { kind: 'paragraph' | 'heading' | 'code'; text: string }
  | { kind: 'list'; isNumbered: boolean; items: string[] };

/** The blocks of a text, in order. */
export function proseBlocks(text: string): ProseBlock[] {
  const blocks: ProseBlock[] = [];
  let code: string[] | undefined;
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) {
      if (code) blocks.push({ kind: 'code', text: code.join('\n') });
      code = code ? undefined : [];
    } else if (code) code.push(line);
    else if (line.trim() !== '') addLine(blocks, line);
  }
  if (code) blocks.push({ kind: 'code', text: code.join('\n') });
  return blocks;
}

function addLine(blocks: ProseBlock[], line: string): void {
  const heading = /^\s{0,3}#{1,6}\s(.*)$/.exec(line);
  const item = /^\s*(?:[-*•]|(\d{1,3})[.)])\s(.*)$/.exec(line);
  if (heading) blocks.push({ kind: 'heading', text: heading[1]?.trimStart() ?? '' });
  else if (!item) blocks.push({ kind: 'paragraph', text: line });
  else {
    const isNumbered = item[1] !== undefined;
    const text = item[2]?.trimStart() ?? '';
    const last = blocks.at(-1);
    if (last?.kind === 'list' && last.isNumbered === isNumbered) last.items.push(text);
    else blocks.push({ kind: 'list', isNumbered, items: [text] });
  }
}

export type Inline = { kind: 'text' | 'strong' | 'code'; text: string };

/** Bold and code within a line. */
export function inlineParts(text: string): Inline[] {
  return text
    .split(/(\*\*[^*]+\*\*|`[^`]+`)/)
    .filter((part) => part !== '')
    .map((part) => {
      if (/^\*\*[^*]+\*\*$/.test(part)) return { kind: 'strong', text: part.slice(2, -2) };
      if (/^`[^`]+`$/.test(part)) return { kind: 'code', text: part.slice(1, -1) };
      return { kind: 'text', text: part };
    });
}
