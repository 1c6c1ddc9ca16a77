/** Every alert is explained and tried; dashboards can be read. What Prometheus makes of them: observability.int.test.ts. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { askedFor, readCases, readDashboards, readRules, root } from './observability-files.ts';

const rules = readRules();
const dashboards = readDashboards();

test('there is something to look at', () => {
  expect(rules.length).toBeGreaterThanOrEqual(10);
  expect(dashboards.map(({ uid }) => uid).toSorted()).toEqual(
    ['money', 'providers', 'queues', 'runs', 'tools'].map((name) => `pawl-${name}`),
  );
});

test.each(rules)('$alert has a sentence, a severity and a runbook that names it', ({ alert, labels, annotations }) => {
  expect(['critical', 'warning']).toContain(labels.severity);
  expect(annotations.summary.length).toBeGreaterThan(10);
  expect(annotations.description).toMatch(/\.$/);
  const runbook = readFileSync(root + annotations.runbook, 'utf8');
  expect(runbook).toContain(`\`${alert}\``);
  expect(runbook).toContain('**Look.**');
  expect(runbook).toContain('**Do.**');
});

test.each(rules)('$alert is tried in a case that is none and in one that is', ({ alert }) => {
  const cases = readCases().filter(({ alertname }) => alertname === alert);
  expect(cases.some(({ exp_alerts: expected }) => expected.length === 0)).toBe(true);
  expect(cases.some(({ exp_alerts: expected }) => expected.length > 0)).toBe(true);
});

test('cases name alerts that there are', () => {
  const names = new Set(rules.map(({ alert }) => alert));
  expect(readCases().filter(({ alertname }) => !names.has(alertname))).toEqual([]);
});

test.each(dashboards)('$file: panels have a title of their own, ask something and do not overlap', ({ panels }) => {
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  expect(panels.filter(({ targets }) => targets.length === 0)).toEqual([]);
  expect(panels.filter(({ datasource }) => datasource.uid !== '${datasource}')).toEqual([]);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_unused, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
});

test('the names that an expression asks for are found', () => {
  expect(askedFor('sum by (le, a) (rate(x_bucket{b="c", d!~"e|f"}[5m])) / on (g) max(y) > 5 unless z > 0.5')).toEqual([
    { metric: 'x_bucket', labels: ['b', 'd'] },
    { metric: 'y', labels: [] },
    { metric: 'z', labels: [] },
  ]);
});
