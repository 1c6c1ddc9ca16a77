/** Alerts and dashboards as data, and the names that their expressions ask for. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const folder = fileURLToPath(new URL('../../deploy/observability/', import.meta.url));
export const root = fileURLToPath(new URL('../../', import.meta.url));

export type Rule = {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook: string };
};

export function readRules(): Rule[] {
  const file = parse(readFileSync(`${folder}prometheus-rules.yaml`, 'utf8')) as { groups: { rules: Rule[] }[] };
  return file.groups.flatMap(({ rules }) => rules);
}

export type Case = { alertname: string; exp_alerts: object[] };

export function readCases(): Case[] {
  const file = parse(readFileSync(`${folder}prometheus-rules.test.yaml`, 'utf8')) as {
    tests: { alert_rule_test: Case[] }[];
  };
  return file.tests.flatMap((test) => test.alert_rule_test);
}

export type Panel = {
  title: string;
  gridPos: { h: number; w: number; x: number; y: number };
  datasource: { uid: string };
  targets: { expr: string; refId: string }[];
};
export type Dashboard = { file: string; uid: string; title: string; panels: Panel[] };

export function readDashboards(): Dashboard[] {
  const files = readdirSync(folder).filter((name) => /^grafana-.*\.json$/.test(name));
  return files.map((file) => ({
    file,
    ...(JSON.parse(readFileSync(folder + file, 'utf8')) as Omit<Dashboard, 'file'>),
  }));
}

/** Every expression, with the place where it stands; Grafana's variables are filled in. */
export function readExpressions(): { where: string; expr: string }[] {
  return [
    ...readRules().map(({ alert, expr }) => ({ where: alert, expr })),
    ...readDashboards().flatMap(({ file, panels }) =>
      panels.flatMap(({ title, targets }) =>
        targets.map(({ expr }) => ({ where: `${file}: ${title}`, expr: expr.replaceAll('$__rate_interval', '5m') })),
      ),
    ),
  ];
}

export type Asked = { metric: string; labels: string[] };

/** The metrics of an expression, each with the labels that it is chosen by. */
export function askedFor(expr: string): Asked[] {
  const bare = expr.replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, ' ');
  const selectors = bare.matchAll(/(?<![\w"$.])([a-z_:][a-z0-9_:]*)(?:\s*\{([^}]*)\}|(?![\w(]|\s*\())/gi);
  const operators = new Set(['and', 'or', 'unless', 'bool', 'offset']);
  return [...selectors]
    .filter(([, name = '']) => !operators.has(name))
    .map(([, metric = '', matchers = '']) => ({
      metric,
      labels: [...matchers.matchAll(/([a-z_][a-z0-9_]*)\s*(?:=~|!~|!=|=)/gi)].map(([, label = '']) => label),
    }));
}
