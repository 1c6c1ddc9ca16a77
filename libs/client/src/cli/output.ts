/** What the command line prints: plain sentences and columns, or JSON. Text of models and tools never reaches the terminal raw. */
import type { Fact, RunView } from '@pawl/contracts';
import pc from 'picocolors';

export type Output = {
  /** The result: JSON with `--json`, otherwise `text`. */
  result(value: unknown, text: () => string): void;
  /** A line while work goes on; one JSON document a line with `--json`. */
  line(value: unknown, text: () => string | undefined): void;
  colors: ReturnType<typeof pc.createColors>;
};

export function createOutput(options: { isJson: boolean; hasColors: boolean; write(text: string): void }): Output {
  const line = (text: string | undefined) => text !== undefined && options.write(`${text}\n`);
  return {
    result: (value, text) => line(options.isJson ? JSON.stringify(value, null, 2) : text()),
    line: (value, text) => line(options.isJson ? JSON.stringify(value) : text()),
    colors: pc.createColors(options.hasColors),
  };
}

/** Without control characters (but line ends) and without marks that reorder text. */
export function safeText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, ' ');
}

export function describeRun(run: RunView): string {
  const state = run.status === 'ended' ? `ended: ${run.stopReason ?? 'unknown'}` : run.status;
  const lines = [
    `run ${run.id} ${state}`,
    `  agent ${run.agent} · steps ${run.steps} · tool calls ${run.toolCalls} · tokens ${run.tokens} · ${run.cost.amount} ${run.cost.currency}`,
  ];
  if (run.detail) lines.push(`  ${safeText(run.detail)}`);
  if (run.answer) lines.push('', safeText(run.answer), ...(run.partial ? ['', '(a partial answer)'] : []));
  return lines.join('\n');
}

export function listOfRuns(runs: RunView[]): string {
  if (runs.length === 0) return 'There are no runs yet. Start one: pawl run <agent> "<question>"';
  const rows = runs.map((run) => [run.id, run.agent, run.stopReason ?? run.status, run.cost.amount, run.startedAt]);
  const header = ['RUN', 'AGENT', 'STATE', 'USD', 'STARTED'];
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)));
  return [header, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** One line about a fact, or undefined where there is nothing to tell. */
export function describeFact(fact: Fact): string | undefined {
  const short = (text: string) => {
    const flat = safeText(text).replaceAll(/\s+/g, ' ').trim();
    return flat.length > 200 ? `${flat.slice(0, 200)} …` : flat;
  };
  switch (fact.kind) {
    case 'started':
      return `started   ${fact.agent.name}`;
    case 'thought':
      return fact.outcome === 'failed'
        ? `thought   failed: ${short(fact.error?.message ?? '')}`
        : `thought   ${short(fact.text)}`;
    case 'acted':
      return fact.calls.map((call) => `calls     ${call.tool} ${short(call.args)}`).join('\n');
    case 'observed':
      return `observed  ${fact.tool}: ${fact.observation.status} ${short(fact.observation.message ?? fact.observation.data ?? '')}`;
    case 'ended':
      return `ended     ${fact.stopReason}`;
    case 'cancel':
      return `cancel    ${short(fact.reason ?? '')}`.trimEnd();
    case 'approval':
    case 'signal':
    case 'paused':
    case 'resumed':
      return fact.kind;
  }
}
