/** Links between documents lead somewhere. */
import { resolvePath } from '../layout.ts';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';

export const markdownLinks: Rule = {
  name: 'markdown-links',
  reason: 'A link that leads nowhere tells a newcomer that nobody reads the documents.',
  check: (files) => {
    const texts = new Map(files.map(({ path, text }) => [path, text]));
    const folders = new Set(files.flatMap(({ path }) => foldersOf(path)));
    return files.filter(({ path }) => path.endsWith('.md')).flatMap((file) => deadLinks(file, { texts, folders }));
  },
};

function deadLinks(file: SourceFile, known: { texts: Map<string, string>; folders: Set<string> }): Violation[] {
  // What stands in code is shown, not linked; blanked so that lines stay the same.
  const prose = file.text.replaceAll(/^```[\s\S]*?^```|`[^`\n]*`/gm, (code) => code.replaceAll(/[^\n]/g, ' '));
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)];
  const references = [...prose.matchAll(/^\[[^\]]+\]:\s+<?([^\s>]+)/gm)];
  return [...inline, ...references].flatMap((found) => {
    const link = found[1] ?? '';
    if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return [];
    const [path = '', anchor] = link.split('#');
    const target =
      path === ''
        ? file.path
        : decodeURIComponent(resolvePath(path.startsWith('/') ? '' : file.path, path)).replace(/^\/|\/$/g, '');
    const mistake = mistakeOf(target, anchor, known);
    return mistake
      ? [{ path: file.path, line: lineAt(file.text, found.index), message: `links to ${link}, ${mistake}` }]
      : [];
  });
}

function mistakeOf(
  target: string,
  anchor: string | undefined,
  known: { texts: Map<string, string>; folders: Set<string> },
) {
  if (target === '' || known.folders.has(target)) return undefined;
  const text = known.texts.get(target);
  if (text === undefined) return 'which does not exist';
  if (!anchor || !target.endsWith('.md')) return undefined;
  return anchorsOf(text).has(anchor) ? undefined : 'a heading that is not there';
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm);
  const anchors = new Set<string>();
  for (const [, heading = ''] of headings) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    let anchor = slug;
    for (let repeat = 1; anchors.has(anchor); repeat += 1) anchor = `${slug}-${repeat}`;
    anchors.add(anchor);
  }
  return anchors;
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
