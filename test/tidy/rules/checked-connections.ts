/** Services go out by what checks where they go (`targets.ts` of libs/service), or to what the operator has named. */
import { isCode, isForTests } from '../layout.ts';
import type { SourceFile } from '../repository.ts';
import { findText, type Rule } from '../rule.ts';

/** These ask Pawl's own services, and a server that is connected already. */
const exempt = /\/(apply-objects|check-services|cancel-statement)\.ts$/;
const ownWays =
  /(?<![\w.]|async )fetch\(|(?<!\w)connect: (?!targets\.connector)\{|new Agent\((?!\{[^}]*\bconnect\b)|^import (?!type\b)[^;]*? from 'node:(?:https?|net|tls)'/gm;

export const checkedConnections: Rule = {
  name: 'checked-connections',
  reason:
    'Apps write down addresses. A connection that is not made by createTargets reaches the private network for whoever asks.',
  check: (files) => findText(files.filter(isOfService), ownWays, (found) => `connects without a check: ${found}`),
};

function isOfService(file: SourceFile): boolean {
  return /^services\/[^/]+\/src\//.test(file.path) && isCode(file) && !isForTests(file.path) && !exempt.test(file.path);
}
