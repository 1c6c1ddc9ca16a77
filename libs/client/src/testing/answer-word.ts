/** What the test server answers to people's words, tools and reports, by the rules of the API. Imported by tests only. */
import { decideApprovalSchema, forkRunSchema, resumeRunSchema, sendSignalSchema, type RunView } from '@pawl/contracts';
import type { Answer } from './run-server.ts';

type Asked = { pathname: string; text: string; body: unknown };

/** Undefined for what is none of these. Changes `of.run` as the word does. */
export function answerWord(of: { run: RunView }, asked: Asked): Answer | undefined {
  const [, , area, name, action, callId = ''] = asked.pathname.split('/');
  if (area === 'tools' && action === 'call') return answerTool(name ?? '', asked.text);
  if (area === 'spend') return { status: 200, body: spend };
  const words = {
    approvals: () => decide(of, callId, asked.body),
    signals: () => (sendSignalSchema.parse(asked.body), { status: 202, body: of.run }),
    resume: () => resume(of, asked.body),
    fork: () => ({
      status: 201,
      body: { ...of.run, id: `run_${'1'.repeat(32)}`, status: 'running', phase: 'think', ...fork(of, asked.body) },
    }),
  };
  return area === 'runs' && action && action in words ? words[action as keyof typeof words]() : undefined;
}

function conflict(detail: string): Answer {
  return { status: 409, body: { status: 409, code: 'conflict', title: 'The request no longer applies', detail } };
}

function decide(of: { run: RunView }, callId: string, body: unknown): Answer {
  const { argsHash } = decideApprovalSchema.parse(body);
  const call = of.run.pending.find((pending) => pending.callId === callId);
  if (call?.argsHash !== argsHash) return conflict('read the run again');
  of.run = {
    ...of.run,
    status: 'running',
    phase: 'act',
    stopReason: null,
    pending: of.run.pending.filter((each) => each !== call),
  };
  return { status: 200, body: of.run };
}

function resume(of: { run: RunView }, body: unknown): Answer {
  resumeRunSchema.parse(body);
  if (of.run.status !== 'paused') return conflict('the run is not paused');
  of.run = { ...of.run, status: 'running', phase: 'think', stopReason: null };
  return { status: 202, body: of.run };
}

function fork(of: { run: RunView }, body: unknown): Pick<RunView, 'forkOf'> {
  return { forkOf: { runId: of.run.id, fromStep: forkRunSchema.parse(body).fromStep } };
}

/** The tool `echo` gives its arguments back digit for digit; any other fails. */
function answerTool(name: string, text: string): Answer {
  const isEcho = name === 'echo';
  const data = isEcho ? text.slice('{"args":'.length, -1) : 'null';
  const rest = isEcho
    ? '"message":null,"suggestion":null'
    : '"message":"It is\\u001b[31m closed.","suggestion":"Try later."';
  const status = isEcho ? 'ok' : 'error';
  const body = `{"status":"${status}","data":${data},"error_code":null,${rest},"truncated":false,"ref":null,"source":"tool:${name}","trust":"untrusted"}`;
  return { status: 200, body };
}

const money = (nanoUsd: string, amount: string) => ({ nanoUsd, amount, currency: 'USD' });
const sums = { calls: 12, inputTokens: 1_000, outputTokens: 200, estimatedCalls: 0 };
const spend = {
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-12-01T00:00:00.000Z',
  items: [
    { agent: 'analyst', day: '2026-11-29', ...sums, cost: money('1500000000', '1.50') },
    { agent: null, day: '2026-11-30', ...sums, calls: 1, cost: money('250000000', '0.25') },
  ],
};
