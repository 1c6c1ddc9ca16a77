/** What is generated of the chart, as texts by file. Pure but for reading what is copied; `generate.ts` writes, a test compares. */
import { readdirSync, readFileSync } from 'node:fs';
import { natsPermissions, pageAddresses, services } from '@pawl/contracts';
import { z } from 'zod';
import { valuesSchema } from './values.ts';

const chart = new URL('../', import.meta.url);
const observability = new URL('../../observability/', import.meta.url);
const tableStart = '<!-- values: generated from source/values.ts, run npm run generate -->';
const tableEnd = '<!-- end of values -->';

/** Paths from the folder of the chart, with what belongs into them. */
export function chartFiles(): Map<string, string> {
  const readme = readFileSync(new URL('README.md', chart), 'utf8');
  return new Map([
    ['values.yaml', valuesYaml()],
    ['values.schema.json', json(valuesJsonSchema())],
    ['README.md', readme.replace(between(tableStart, tableEnd), `${tableStart}\n\n${valuesTable()}\n\n${tableEnd}`)],
    ['files/nats-users.json', json(natsPermissions())],
    ['examples/servers/nats-values.yaml', natsValues()],
    ['files/routes.json', json(routes())],
    ...observabilityFiles(),
  ]);
}

/** What leads in from outside, and no more: metrics stay inside. The page shows whether trace-store is ready. */
function routes(): Record<string, { port: number; paths: string[]; exact: string[] }> {
  const [page, ...below] = [...new Set(pageAddresses.map((address) => `/${address.split('/')[1]}`))];
  return Object.fromEntries(
    services.map(({ name, port, paths }) => [
      name,
      name === 'trace-store'
        ? { port, paths: [...paths, ...below, '/page'], exact: [page ?? '/', '/healthz/ready'] }
        : { port, paths: [...paths], exact: [] },
    ]),
  );
}

/** For the NATS chart: three servers, synced disks, a user per service. JSON is YAML, too. */
function natsValues(): string {
  const variableOf = (user: string) => `NATS_PASSWORD_${user.toUpperCase().replaceAll('-', '_')}`;
  const all = Object.entries(natsPermissions());
  const users = all.map(([user, { publish, subscribe }]) => ({
    user: `pawl-${user}`,
    password: `<< $${variableOf(user)} >>`,
    permissions: {
      publish: { allow: user === 'tool-runner' ? [...publish, 'tools.>'] : publish },
      subscribe: { allow: subscribe },
    },
  }));
  const worker = {
    user: 'tool-worker',
    password: '<< $NATS_PASSWORD_TOOL_WORKER >>',
    permissions: {
      publish: { allow: ['_INBOX.pawl-tool-runner.>'] },
      subscribe: { allow: ['tools.>', 'pawl.toolcancel.tools.>', '_INBOX.tool-worker.>'] },
    },
  };
  const secretOf = (user: string) => ({ valueFrom: { secretKeyRef: { name: 'pawl-nats', key: `nats-${user}` } } });
  const env = [...all.map(([user]) => user), 'tool-worker'].map((user) => [variableOf(user), secretOf(user)]);
  const values = {
    config: {
      cluster: { enabled: true, replicas: 3 },
      monitor: { enabled: true },
      jetstream: {
        enabled: true,
        fileStore: { pvc: { size: '50Gi' } },
        merge: { sync_interval: 'always' },
      },
      merge: { authorization: { users: [...users, worker] } },
    },
    container: { env: Object.fromEntries(env) },
    podTemplate: {
      topologySpreadConstraints: { 'kubernetes.io/hostname': { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' } },
    },
  };
  return `${natsValuesHead}${json(values)}`;
}

const natsValuesHead = `# Values for the chart of NATS (https://github.com/nats-io/k8s), generated: run npm run generate. Three servers whose acknowledged
# messages are on the disk, a user per service with the rights that it needs, and one for workers of tools under tools.>.
# The Secret pawl-nats holds the passwords. They have to begin with a letter: the server reads what looks like a number as one.
`;

/** Dashboards and alerts have to lie within the chart to be part of it. */
function observabilityFiles(): [string, string][] {
  return readdirSync(observability)
    .filter((name) => /^(grafana-.*\.json|prometheus-rules\.yaml)$/.test(name))
    .map((name) => [`files/observability/${name}`, readFileSync(new URL(name, observability), 'utf8')]);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function between(start: string, end: string): RegExp {
  return new RegExp(`${start}[^]*${end}`);
}

/** Helm 3 knows no newer dialect. */
function valuesJsonSchema(): object {
  return z.toJSONSchema(valuesSchema, { target: 'draft-7', io: 'input' });
}

type Entry = { path: string[]; description: string; value: unknown; isGroup: boolean };

/** Every value in the order of the source: groups first, then what is in them. */
function entries(): Entry[] {
  const visit = (schema: z.ZodType, path: string[]): Entry[] => {
    const inner = unwrap(schema);
    const isGroup = inner instanceof z.ZodObject && !path.includes('config') && Object.keys(inner.shape).length > 0;
    const entry = { path, description: schema.description ?? '', value: schema.parse(undefined), isGroup };
    if (!isGroup) return [entry];
    const children = Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([key, child]) =>
      visit(child, [...path, key]),
    );
    return [entry, ...children];
  };
  return Object.entries(valuesSchema.shape).flatMap(([key, schema]) => visit(schema, [key]));
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return schema.unwrap() as z.ZodType;
  return schema;
}

function valuesYaml(): string {
  const lines = ['# Generated from source/values.ts: run npm run generate. Which values there are and what they mean.'];
  for (const { path, description, value, isGroup } of entries()) {
    const indent = '  '.repeat(path.length - 1);
    if (path.length === 1) lines.push('');
    lines.push(...wrapped(description, 118 - indent.length).map((line) => `${indent}# ${line}`));
    lines.push(`${indent}${path.at(-1)}:${isGroup ? '' : ` ${JSON.stringify(value)}`}`);
  }
  return `${lines.join('\n')}\n`;
}

function wrapped(text: string, width: number): string[] {
  return text.split(' ').reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + 1 > width) return [...lines, word];
    return [...lines.slice(0, -1), `${last} ${word}`];
  }, []);
}

function valuesTable(): string {
  const rows = entries()
    .filter(({ isGroup }) => !isGroup)
    .map(({ path, value, description }) => `| \`${path.join('.')}\` | \`${JSON.stringify(value)}\` | ${description} |`);
  return ['| Value | Default | Meaning |', '|---|---|---|', ...rows.map((row) => row.replaceAll('||', '\\|\\|'))].join(
    '\n',
  );
}
