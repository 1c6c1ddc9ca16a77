/**
 * HTML as plain text: what a reader sees of it, roughly. Pure, and one pass over the text whatever its nesting, since pages
 * come from anywhere. Scripts, styles, comments, attributes and with them links and images are left out.
 */
import { Tokenizer } from 'htmlparser2';

const unseen = new Set(['script', 'style', 'noscript', 'template', 'svg', 'head', 'iframe', 'object']);
const inline = new Set(
  'a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span strong sub sup time u var wbr'.split(
    ' ',
  ),
);
const cells = new Set(['td', 'th']);

/** Text with a line for each block, a tab between the cells of a table, and no empty lines in a row. */
export function textOfHtml(html: string): string {
  const pieces: string[] = [];
  let hidden = '';
  const separate = (tag: string) => {
    if (inline.has(tag)) return;
    pieces.push(cells.has(tag) ? '\t' : tag === 'li' ? '\n- ' : '\n');
  };
  const nothing = () => {};
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      onopentagname(start, end) {
        const tag = html.slice(start, end).toLowerCase();
        if (hidden !== '') return;
        if (unseen.has(tag)) hidden = tag;
        else separate(tag);
      },
      onclosetag(start, end) {
        const tag = html.slice(start, end).toLowerCase();
        if (hidden === tag) hidden = '';
        else if (hidden === '' && tag !== 'li') separate(tag);
      },
      onselfclosingtag() {
        hidden = hidden === 'svg' ? hidden : '';
      },
      ontext(start, end) {
        if (hidden === '') pieces.push(html.slice(start, end).replaceAll(/\s+/g, ' '));
      },
      ontextentity(codepoint) {
        if (hidden === '') pieces.push(String.fromCodePoint(codepoint));
      },
      onattribdata: nothing,
      onattribend: nothing,
      onattribentity: nothing,
      onattribname: nothing,
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onend: nothing,
      onopentagend: nothing,
      onprocessinginstruction: nothing,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return tidy(pieces.join(''));
}

function tidy(text: string): string {
  const lines = text.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' ').trim());
  return lines.filter((line) => line !== '' && line !== '-').join('\n');
}
