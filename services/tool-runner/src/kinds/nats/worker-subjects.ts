/**
 * Which NATS subjects a tool may name. Workers share the server with Pawl itself, so a tool must never reach the subjects of
 * the log, of work queues, of the server or of inboxes; an operator can keep apps apart by a pattern. Pure.
 */

const subjectPattern = /^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$/;

/** A sentence on why an app's tool may not use a subject, or undefined. `patterns` as in `PAWL_TOOL_SUBJECTS`. */
export function subjectProblem(app: string, subject: string, patterns: readonly string[]): string | undefined {
  if (!subjectPattern.test(subject)) {
    return 'expected words of letters, digits, _ and - with dots between them, and no wildcards';
  }
  if (subject === 'pawl' || subject.startsWith('pawl.')) return 'subjects under pawl. belong to Pawl itself';
  const allowed = patterns.map((pattern) => pattern.replaceAll('{app}', app));
  if (allowed.some((pattern) => isCoveredBy(subject, pattern))) return undefined;
  return `app ${app} may only use subjects that match ${allowed.join(' or ')}`;
}

/** Whether a NATS subject pattern covers a subject: `*` is one word, `>` at the end is one or more. */
export function isCoveredBy(subject: string, pattern: string): boolean {
  const words = subject.split('.');
  const wanted = pattern.split('.');
  if (wanted.at(-1) === '>') {
    const fixed = wanted.slice(0, -1);
    return words.length > fixed.length && fixed.every((word, at) => word === '*' || word === words[at]);
  }
  return words.length === wanted.length && wanted.every((word, at) => word === '*' || word === words[at]);
}
