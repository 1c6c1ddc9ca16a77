import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useCommandLine } from '../testing/command-line.ts';
import { runId, runView } from '../testing/run-server.ts';
import { actedWith, pausedFact, pausedRun, refundCall, waitingRun } from '../testing/waiting-run.ts';

const cli = useCommandLine();
const { pawl } = cli;

const problem = (status: number, code: string) => ({
  status,
  body: { status, code, title: 'x', detail: `it is ${code}` },
});

describe('help and mistakes', () => {
  test('help names every command and the exit codes', async () => {
    const { code, out } = await pawl(['--help'], {});
    expect(code).toBe(0);
    const names = 'run runs get pending spend approve deny signal resume cancel fork apply tool doctor'.split(' ');
    for (const name of names) expect(out).toMatch(new RegExp(`^  ${name} `, 'm'));
    for (const title of ['Examples:', 'Exit codes:']) expect(out).toContain(title);
  });

  test.for([
    'nonsense',
    'run analyst',
    'runs --limit x',
    `get ${runId} --wait -1`,
    `deny ${runId}`,
    `approve ${runId} --edit [1]`,
    `signal ${runId}`,
    `resume ${runId} --steps 1.5`,
    `fork ${runId}`,
    `fork ${runId} --from-step 1 --model dream=x`,
    'tool call',
    'tool call echo --args {',
  ])('%s is wrong usage: exit code 2 and a sentence', async (line) => {
    const { code, err } = await pawl(line.split(' '));
    expect(code).toBe(2);
    expect(err).toContain('error:');
  });

  test('with nothing that points to a Pawl it says how to get one', async () => {
    const { code, err } = await pawl(['runs'], {});
    expect(code).toBe(2);
    expect(err).toContain('npm run dev');
    expect(err).toContain('PAWL_URL');
  });
});

describe('runs', () => {
  test('run --follow prints the steps and the answer, without control characters', async () => {
    const { code, out } = await pawl(['run', 'analyst', 'why?', '--follow']);
    expect(code).toBe(0);
    expect(out).toContain('ended     final_answer');
    expect(out).toContain('answer');
    expect(out).not.toContain('\u001B');
    expect(out).not.toContain('\u202E');
    expect(cli.server.seen[0]).toMatchObject({ method: 'POST', body: { agent: 'analyst', input: 'why?' } });
  });

  test('a run that ended otherwise is exit code 3, one that goes on after --wait is 4', async () => {
    cli.server.instead.push({ status: 201, body: { ...runView, stopReason: 'max_steps' } });
    expect((await pawl(['run', 'analyst', 'why?', '--wait', '1'])).code).toBe(3);
    const running = { status: 200, body: { ...runView, status: 'running', phase: 'think', stopReason: null } };
    cli.server.instead.push(...Array.from({ length: 50 }, () => running));
    const { code, out } = await pawl(['run', 'analyst', 'why?', '--wait', '1']);
    expect(code).toBe(4);
    expect(out).toContain(`pawl get ${runId}`);
    expect(cli.server.seen.length).toBeLessThan(20);
  });

  test('--json is JSON alone, wherever it stands', async () => {
    expect(JSON.parse((await pawl(['get', runId, '--json'])).out)).toEqual(runView);
    expect(JSON.parse((await pawl(['--json', 'runs'])).out)).toEqual({ items: [runView], next: null });
    const lines = (await pawl(['run', 'analyst', 'why?', '--follow', '--json'])).out.trim().split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({ kind: 'signal' });
  });

  test('runs is a table; get and cancel reach the run', async () => {
    expect((await pawl(['runs'])).out).toMatch(/^RUN +AGENT +STATE/);
    expect((await pawl(['cancel', runId, '--reason', 'enough'])).code).toBe(0);
    expect(cli.server.seen.at(-1)).toMatchObject({ path: `/v1/runs/${runId}/cancel`, body: { reason: 'enough' } });
  });

  test.for([
    ['waits for a person', actedWith(refundCall), waitingRun, `pawl approve ${runId} call_0_0`],
    ['pauses', pausedFact, pausedRun, `pawl resume ${runId} --steps 20`],
  ] as const)('run --follow stops when the run %s and says what to type, exit code 4', async ([, fact, run, line]) => {
    cli.server.facts = [fact];
    cli.server.run = run;
    const { code, out } = await pawl(['run', 'analyst', 'why?', '--follow']);
    expect(code).toBe(4);
    expect(out).toContain(`  ${line}\n`);
  });

  test('run --wait is over when the run waits for a person', async () => {
    cli.server.run = waitingRun;
    const { code, out } = await pawl(['run', 'analyst', 'why?', '--wait', '20']);
    expect([code, cli.server.seen.length]).toEqual([4, 1]);
    expect(out).toContain('pawl approve');
  });

  test('get shows phase, plan, arguments and hash', async () => {
    cli.server.run = waitingRun;
    const { code, out } = await pawl(['get', runId]);
    expect(code).toBe(0);
    for (const text of ['phase waiting', '✓ look the order up', '· pay back', '"amount":120', refundCall.argsHash!])
      expect(out).toContain(text);
  });

  test('what Pawl refuses is a sentence with the code, exit code 1', async () => {
    cli.server.instead.push(problem(404, 'unknown_run'));
    const { code, out, err } = await pawl(['get', 'run_x']);
    expect([code, out, err]).toEqual([1, '', 'pawl: it is unknown_run (unknown_run)\n']);
  });
});

describe('apply', () => {
  const source =
    'apiVersion: pawl.dev/v1\nkind: DataSource\nmetadata: { app: demo, name: w }\nspec: { postgres: { url: "postgres://x" } }\n';
  const tool =
    'apiVersion: pawl.dev/v1\nkind: Tool\nmetadata: { app: demo, name: t }\nspec: { description: d, builtin: { name: calculator } }\n';

  test('several objects of several files, those that others name first', async () => {
    await writeFile(join(cli.folder, 'a.yaml'), `${tool}---\n# nothing here\n---\n${source}`);
    await writeFile(join(cli.folder, 'b.yaml'), source.replace('name: w', 'name: v'));
    const { code, out } = await pawl(['apply', '-f', 'a.yaml', 'b.yaml']);
    expect(code).toBe(0);
    expect(out.trim().split('\n')).toHaveLength(3);
    expect(cli.server.seen.map(({ path }) => path)).toEqual([
      '/v1/data-sources/w',
      '/v1/data-sources/v',
      '/v1/tools/t',
    ]);
  });

  test.for([
    ['a field too many', `${source}extra: 1\n`, 'extra'],
    ['broken YAML', 'a: [1,\nb: }', 'not YAML'],
    ['nothing', '# empty\n', 'no object'],
  ] as const)('%s is told with the file, and nothing is sent', async ([, text, word]) => {
    await writeFile(join(cli.folder, 'good.yaml'), tool);
    await writeFile(join(cli.folder, 'bad.yaml'), text);
    const { code, err } = await pawl(['apply', '-f', ...(word === 'no object' ? [] : ['good.yaml']), 'bad.yaml']);
    expect(code).toBe(2);
    expect(err).toContain('bad.yaml');
    expect(err).toContain(word);
    expect(cli.server.seen).toEqual([]);
  });
});

describe('doctor', () => {
  test('all well', async () => {
    const { code, out } = await pawl(['doctor']);
    expect(code).toBe(0);
    expect(out).not.toContain('FAIL');
    for (const name of ['orchestrator', 'tool-runner', 'llm-gateway', 'trace-store']) expect(out).toContain(name);
  });

  test('finds what npm run dev has left, from a folder below', async () => {
    await mkdir(join(cli.folder, '.pawl'));
    const dev = { url: cli.server.url, adminKey: 'admin', apps: { demo: { key: 'dev-key' } } };
    await writeFile(join(cli.folder, '.pawl/dev.json'), JSON.stringify(dev));
    const { code, out } = await pawl(['doctor'], {});
    expect(code).toBe(0);
    expect(out).toContain('dev.json');
    expect(cli.server.seen[0]?.headers.authorization).toBe('Bearer dev-key');
    const other = await pawl(['runs', '--app', 'none'], {});
    expect(other).toMatchObject({ code: 2 });
    expect(other.err).toContain('demo');
  });

  test('nothing configured, nobody there, a wrong key: each says what to do, exit code 1', async () => {
    const nothing = await pawl(['doctor'], {});
    expect(nothing).toMatchObject({ code: 1 });
    expect(nothing.out).toContain('npm run dev');
    cli.server.instead.push(problem(401, 'unauthorized'));
    const wrong = await pawl(['doctor']);
    expect(wrong).toMatchObject({ code: 1 });
    expect(wrong.out).toContain('key');
    const nobody = await pawl(['doctor'], { PAWL_URL: 'http://127.0.0.1:9', PAWL_KEY: 'key' });
    expect(nobody).toMatchObject({ code: 1 });
    expect(nobody.out).toContain('→');
  });
});
