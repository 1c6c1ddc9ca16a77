/** What an agent may not ask for, although its schema allows it: what can't be met, and what could never hold. */
import { RejectedError, type RegistryObject } from '@pawl/contracts';
import type { Targets } from '@pawl/service/targets';
import { checkAnswerSchema } from '../run/answer.ts';
import { settleLimits } from '../run/limits.ts';
import { checkCondition } from '../run/rules.ts';

/** Throws `RejectedError` with a sentence for the first mistake. `targets` says where webhooks may be sent. */
export function createAgentCheck(targets: Targets): (object: RegistryObject) => void {
  return (object) => {
    if (object.kind !== 'Agent') return;
    const { spec } = object;
    settleLimits(spec.limits, undefined);
    checkAnswerSchema(spec);
    for (const [index, stage] of (spec.stages ?? []).entries()) {
      if (stage.enterWhen !== undefined) checkCondition(`stages.${index}.enterWhen`, stage.enterWhen);
    }
    for (const [index, rule] of (spec.approvals ?? []).entries()) {
      if (rule.when !== undefined) checkCondition(`approvals.${index}.when`, rule.when);
      checkNamed(`approvals.${index}.tool`, rule.tool, spec.tools ?? []);
    }
    const webhook = spec.webhooks?.waiting;
    if (webhook) checkTarget(new URL(webhook.url), targets);
  };
}

function checkNamed(path: string, tool: string, tools: string[]): void {
  if (!tools.includes(tool))
    throw new RejectedError('invalid_request', `${path}: ${tool} is not among the agent's tools`);
}

/** Names that only a network of one's own knows. */
const ownNetwork = /^[^.:]+\.?$|\.(local|internal|svc)\.?$/i;

/** Webhooks go to the open web over TLS, or to a private host that the operator has named. */
function checkTarget(url: URL, targets: Targets): void {
  const isAllowed = targets.isNamed(url.hostname) || (url.protocol === 'https:' && !ownNetwork.test(url.hostname));
  const rule = `${url.host} has to be a public host over https, or be named in PAWL_ALLOW_PRIVATE_HOSTS`;
  const problem = targets.problemOf(url) ?? (isAllowed ? undefined : rule);
  if (problem !== undefined) throw new RejectedError('target_not_allowed', `webhooks.waiting.url: ${problem}`);
}
