/** What a piece of think work asks the gateway for. Pure. */
import type { OfferedTool, ThinkWork } from '@pawl/contracts';
import { leastOutput } from '../budget/requirement.ts';
import type { ModelRequest } from '../call/model-request.ts';
import { answerSchemaOf } from '../providers/answer-format.ts';

export function requestOfWork(work: ThinkWork): ModelRequest {
  return {
    address: { runId: work.runId, m: work.m },
    // A worker that has died still holds what its heir takes over.
    isExclusive: false,
    spender: { app: work.app, agent: work.agent, userId: work.user?.id, runs: runsOf(work) },
    purpose: work.purpose,
    route: work.route,
    messages: work.messages,
    tools: work.tools.map(toolOf),
    options: {},
    answerSchema: answerSchemaOf(work),
    choices: 1,
    outputTokensMax: work.maxOutputTokens,
    outputTokensMin: leastOutput(work.maxOutputTokens),
    dataClasses: work.dataClasses ?? [],
    deadlineAtMs: Date.parse(work.deadlineAt),
    callIdPrefix: `call_${work.m}`,
  };
}

function toolOf({ name, description, parameters }: OfferedTool): object {
  return { type: 'function', function: { name, description, parameters } };
}

/** The run and those above it. One that is named twice counts once, with the lower limit. */
function runsOf(work: ThinkWork): { runId: string; limitNanoUsd: bigint }[] {
  const own = { runId: work.runId, spendLimitNanoUsd: work.runSpendLimitNanoUsd };
  const limits = new Map<string, bigint>();
  for (const { runId, spendLimitNanoUsd } of [own, ...(work.ancestors ?? [])]) {
    const limit = BigInt(spendLimitNanoUsd);
    const known = limits.get(runId);
    limits.set(runId, known === undefined || limit < known ? limit : known);
  }
  return [...limits].map(([runId, limitNanoUsd]) => ({ runId, limitNanoUsd }));
}
