/**
 * What a span adds to the roll-up of its run. Pure.
 * Title, session and user are those of the outermost agent, whichever span comes first: of all that could be it, the one
 * with the smallest rank counts.
 */
import { stopReasonSchema } from '@pawl/contracts';
import { countsOf, noParts, toolName } from '../record/contribution.ts';
import type { TraceRecord } from '../record/record.ts';
import type { RollUp } from '../record/roll-up.ts';
import { safeText } from '../record/safe-text.ts';
import { aboutOf, kindOf, textIn } from './conventions.ts';
import { isEntry, type OtlpSpan } from './span.ts';

export function contributionOfSpan(span: OtlpSpan, record: TraceRecord): RollUp {
  const kind = kindOf(span);
  const canBeWhole = kind === 'agent' || isEntry(span);
  const about = aboutOf(span);
  const rank = rankOf(span, kind === 'agent');
  return {
    ...countsOf(record),
    ...noParts,
    source: 'otlp',
    firstAt: record.startedAt,
    tools: record.tool === null ? [] : [toolName(record.tool)],
    toolCalls: kind === 'call' ? 1 : 0,
    start: {
      rank,
      at: record.startedAt,
      agent: safeText(about.agent),
      revision: '',
      question: safeText(about.question),
      userId: about.user === null ? null : safeText(about.user),
      session: about.session === null ? null : safeText(about.session),
      parent: null,
      forkOf: null,
    },
    end: canBeWhole ? endOf(span, { rank, at: record.at, answer: about.answer }) : null,
  };
}

/** Smaller is further outside: agents before others, entries before what is inside of them, then the earlier. */
function rankOf(span: OtlpSpan, isAgent: boolean): string {
  const level = `${isAgent ? 0 : 1}${isEntry(span) ? 0 : 1}`;
  return `${level}-${span.startNano.toString().padStart(20, '0')}-${span.spanId}`;
}

function endOf(span: OtlpSpan, known: { rank: string; at: string; answer: string | null }): RollUp['end'] {
  const said = stopReasonSchema.safeParse(
    textIn(span.attributes, 'pawl.stop_reason', 'gen_ai.react.finish_reason'),
  ).data;
  return {
    rank: known.rank,
    at: known.at,
    stopReason: said ?? (span.statusCode === 2 ? 'internal_error' : 'final_answer'),
    answer: known.answer === null ? null : safeText(known.answer),
    partial: span.statusCode === 2,
    detail: safeText(span.statusMessage),
    totals: null,
  };
}
