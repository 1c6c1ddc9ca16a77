/**
 * What a model wrote, with the few signs of Markdown that models use: headings, lists, bold, code. Everything else,
 * links and markup included, stays plain text.
 */
import { element } from './element.js';
import { visibleText } from './format.js';

/** Nodes of a text. */
export function showProse(text) {
  const nodes = [];
  let list;
  for (const block of blocksOf(visibleText(text))) {
    if (block.kind !== 'item') list = undefined;
    if (block.kind === 'item') {
      const name = block.isNumbered ? 'ol' : 'ul';
      if (list?.localName !== name) nodes.push((list = element(name, { dir: 'auto' })));
      list.append(element('li', { dir: 'auto' }, inline(block.text)));
    } else if (block.kind === 'code') nodes.push(element('pre', { class: 'long', dir: 'auto' }, block.text));
    else if (block.kind === 'heading') nodes.push(element('p.heading', { dir: 'auto' }, inline(block.text)));
    else nodes.push(element('p', { dir: 'auto' }, inline(block.text)));
  }
  return nodes;
}

function blocksOf(text) {
  const blocks = [];
  let code;
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) {
      if (code) blocks.push({ kind: 'code', text: code.join('\n') });
      code = code ? undefined : [];
    } else if (code) code.push(line);
    else if (line.trim() !== '') blocks.push(blockOf(line));
  }
  if (code) blocks.push({ kind: 'code', text: code.join('\n') });
  return blocks;
}

function blockOf(line) {
  const heading = /^\s{0,3}#{1,6}\s+(.*)$/.exec(line);
  if (heading) return { kind: 'heading', text: heading[1] };
  const item = /^\s*(?:[-*•]|(\d{1,3})[.)])\s+(.*)$/.exec(line);
  if (item) return { kind: 'item', isNumbered: item[1] !== undefined, text: item[2] };
  return { kind: 'paragraph', text: line };
}

function inline(text) {
  return text.split(/(\*\*[^*]+\*\*|`[^`]+`)/).map((part) => {
    if (/^\*\*[^*]+\*\*$/.test(part)) return element('strong', {}, part.slice(2, -2));
    if (/^`[^`]+`$/.test(part)) return element('code', {}, part.slice(1, -1));
    return part;
  });
}
