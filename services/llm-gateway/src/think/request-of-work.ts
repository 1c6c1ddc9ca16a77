/** What a piece of think work asks the gateway for. Pure. */
import type { OfferedTool, ThinkWork } from '@pawl/contracts';
import type { SpendingRun } from '../budget/levels.ts';
import { leastOutput } from '../budget/requirement.ts';
import type { ModelRequest } from '../call/model-request.ts';
import { answerSchemaOf } from '../providers/answer-format.ts';

export function requestOfWork(work: ThinkWork, isFresh = false): ModelRequest {
  return {
    address: { runId: work.runId, m: work.m },
    // A worker that has died still holds what its heir takes over.
    isExclusive: false,
    isFresh,
    spender: { app: work.app, agent: work.agent, userId: work.user?.id, keyId: work.keyId, runs: runsOf(work) },
    purpose: work.purpose,
    route: work.route,
    messages: work.messages,
    tools: work.tools.map(toolOf),
    options: {},
    answerSchema: answerSchemaOf(work),
    choices: 1,
    outputTokensMax: work.maxOutputTokens,
    outputTokensMin: leastOutputOf(work),
    isClosing: isClosing(work),
    dataClasses: work.dataClasses ?? [],
    deadlineAtMs: Date.parse(work.deadlineAt),
    callIdPrefix: `call_${work.m}`,
  };
}

function toolOf({ name, description, parameters }: OfferedTool): object {
  return { type: 'function', function: { name, description, parameters } };
}

/** Others have left room for a closing call, so that it takes what there is. */
function leastOutputOf(work: ThinkWork): ModelRequest['outputTokensMin'] {
  const { run, budget } = leastOutput(work.maxOutputTokens);
  const wanted = Math.min(work.minOutputTokens ?? run, work.maxOutputTokens);
  return { run: wanted, budget: isClosing(work) ? wanted : Math.max(wanted, budget) };
}

function isClosing({ purpose, reserve }: ThinkWork): boolean {
  return purpose === 'conclude' && reserve === undefined;
}

/** The run and those above it. One that is named twice counts once, with the lower limit. */
function runsOf(work: ThinkWork): SpendingRun[] {
  const own = { runId: work.runId, spendLimitNanoUsd: work.runSpendLimitNanoUsd, reserve: work.reserve };
  const runs = new Map<string, SpendingRun>();
  for (const { runId, spendLimitNanoUsd, reserve } of [own, ...(work.ancestors ?? [])]) {
    const limitNanoUsd = BigInt(spendLimitNanoUsd);
    const known = runs.get(runId);
    if (known === undefined || limitNanoUsd < known.limitNanoUsd) runs.set(runId, { runId, limitNanoUsd, reserve });
  }
  return [...runs.values()];
}
