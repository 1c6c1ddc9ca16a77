/** Tests in a browser look at the page until it shows what they expect. */
import { Visitor, type CallExpression } from 'oxc-parser';
import type { SourceFile } from '../repository.ts';
import { lineAt, type Rule, type Violation } from '../rule.ts';
import { nameOf, sourceOf } from '../source.ts';

/** What reads a page or a part of it as it is at this moment. Clicks, fills and `waitFor` wait by themselves. */
const reads = new Set(
  (
    'all allInnerTexts allTextContents boundingBox content count evaluate evaluateAll getAttribute innerHTML innerText ' +
    'inputValue isChecked isDisabled isEditable isEnabled isHidden isVisible textContent title $ $$ $eval $$eval'
  ).split(' '),
);

export const polledReads: Rule = {
  name: 'polled-reads',
  reason:
    'A page answers when it is ready, so what is read right after an action may be what stood there before: ' +
    'await expect.poll(() => tab.getByText("…").count()).toBe(1).',
  check: (files) => files.filter(isBrowserTest).flatMap(findBareReads),
};

function isBrowserTest(file: SourceFile): boolean {
  const isTest = /\.(test|suite)\.ts$/.test(file.path);
  return isTest && sourceOf(file).imports.some(({ specifier }) => /^playwright|\/browser\.ts$/.test(specifier));
}

function findBareReads(file: SourceFile): Violation[] {
  const found: { name: string; start: number; end: number }[] = [];
  const polls: { start: number; end: number }[] = [];
  new Visitor({
    CallExpression(call) {
      const name = readOf(call);
      if (name) found.push({ name, start: call.start, end: call.end });
      if (nameOf(call.callee).join('.') === 'expect.poll') polls.push({ start: call.start, end: call.end });
    },
  }).visit(sourceOf(file).program);
  return found
    .filter(({ start, end }) => !polls.some((poll) => poll.start < start && end < poll.end))
    .map(({ name, end }) => ({
      path: file.path,
      line: lineAt(file.text, end),
      message: `reads ${name} of the page once, outside of expect.poll`,
    }));
}

/** The name of what a call reads, if it does. `expect(tab.url())` is one, too; a server has a `url()` that is none. */
function readOf({ callee, arguments: given }: CallExpression): string | undefined {
  const [root, ...path] = nameOf(callee);
  const last = path.at(-1) ?? '';
  if (root === 'Promise') return undefined;
  if (reads.has(last)) return last;
  const [looked] = given;
  const isAddress = root === 'expect' && path.length === 0 && looked?.type === 'CallExpression';
  return isAddress && nameOf(looked.callee).at(-1) === 'url' ? 'url' : undefined;
}
