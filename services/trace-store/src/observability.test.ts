/** Dashboards and alerts ask for metrics that are there. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8');
const folder = 'deploy/observability';

/** Names that the services register, with what Prometheus makes of histograms. */
function exported(): Set<string> {
  const files = globSync('services/*/src/**/*.ts', { cwd: root }).filter((file) => !file.includes('.test.'));
  const names = files.flatMap((file) =>
    [...read(file).matchAll(/name: '((?:pawl|gen_ai)_[a-z_]+)'/g)].map(([, name]) => name),
  );
  const usage = read('services/trace-store/src/trace-metrics.ts').matchAll(/usage\('([a-z_]+)'/g);
  return new Set([
    ...names.flatMap((name) => [`${name}`, `${name}_bucket`, `${name}_count`, `${name}_sum`]),
    ...[...usage].map(([, name]) => `gen_ai_client_inference_usage_${name}_total`),
  ]);
}

const asked = (text: string) => [...new Set([...text.matchAll(/\b(?:pawl|gen_ai)_[a-z_]+/g)].map(([name]) => name))];

test.each(['grafana-runs.json', 'prometheus-rules.yaml', 'prometheus-rules.test.yaml'])(
  '%s asks for what is exported',
  (file) => {
    const names = asked(read(`${folder}/${file}`));
    expect(names.length).toBeGreaterThan(2);
    const known = exported();
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  },
);

test('the dashboard is JSON with panels that each ask something and do not overlap', () => {
  const { panels } = JSON.parse(read(`${folder}/grafana-runs.json`)) as {
    panels: { title: string; gridPos: { x: number; y: number }; targets: { expr: string }[] }[];
  };
  const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
  expect(new Set(places).size).toBe(panels.length);
  for (const { title, targets } of panels) {
    expect([title, targets.every(({ expr }) => expr !== '')]).toEqual([title, true]);
  }
});

test('every alert has a sentence and a severity, and the tests of alerts name only those that there are', () => {
  const rules = read(`${folder}/prometheus-rules.yaml`);
  const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name);
  expect(rules.match(/summary:/g)).toHaveLength(alerts.length);
  expect(rules.match(/severity:/g)).toHaveLength(alerts.length);
  const tried = read(`${folder}/prometheus-rules.test.yaml`);
  const names = [...tried.matchAll(/alertname: (\w+)/g)].map(([, name]) => name);
  expect(names.filter((name) => !alerts.includes(name))).toEqual([]);
});
