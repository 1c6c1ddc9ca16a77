/** A fact as one line, for who follows a run. Pure. */
import type { Acted, Fact, Purpose } from '@pawl/contracts';
import { shortText } from './output.ts';

const thoughtWords: Record<Purpose, string> = {
  think: 'thought ',
  plan: 'plan    ',
  reflect: 'review  ',
  summarize: 'summary ',
  conclude: 'answer  ',
};

/** Undefined where there is nothing to tell. */
export function describeFact(fact: Fact): string | undefined {
  switch (fact.kind) {
    case 'started':
      return `started   ${fact.agent.name}`;
    case 'thought':
      return fact.outcome === 'failed'
        ? `thought   failed: ${shortText(fact.error?.message ?? '')}`
        : `${thoughtWords[fact.purpose]}  ${shortText(fact.text)}`;
    case 'acted':
      return fact.calls.map(describeCall).join('\n');
    case 'observed':
      return `observed  ${fact.tool}: ${fact.observation.status} ${shortText(fact.observation.message ?? fact.observation.data ?? '')}`;
    case 'approval':
      return fact.decision === 'expire'
        ? `expired   ${fact.callId}: nobody decided in time`
        : `decided   ${fact.callId}: ${fact.decision} ${shortText(fact.reason ?? '')}`.trimEnd();
    case 'signal':
      return `told      ${shortText(fact.text ?? fact.data ?? '')}`;
    case 'paused':
      return `paused    ${fact.stopReason}`;
    case 'resumed':
      return `resumed   up to ${fact.limits.steps} steps`;
    case 'ended':
      return `ended     ${fact.stopReason}`;
    case 'cancel':
      return `cancel    ${shortText(fact.reason ?? '')}`.trimEnd();
  }
}

function describeCall(call: Acted['calls'][number]): string {
  const args = shortText(call.args);
  if (call.admission === 'approval') return `approval  ${call.tool} ${args} waits for a person: ${call.why ?? ''}`;
  if (call.admission === 'input') return `question  ${args}`;
  return `calls     ${call.tool} ${args}`;
}
