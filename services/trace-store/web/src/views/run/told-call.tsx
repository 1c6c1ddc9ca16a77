/** What was done, in one sentence: with what, what came of it, what a person decided on it, and why it was not done. */
import type { Outcome, ToldCall, ToldDecision } from '../../record/explanation.ts';
import { readableName, visibleText } from '../../record/format.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { useWords, type WordKey, type Words } from '../../words/words.tsx';

/** `isReasoned`: with the reason why it was not done. */
export function Told({ call, isReasoned = false }: { call: ToldCall; isReasoned?: boolean }) {
  const words = useWords();
  const { say } = words;
  const { outcome, decision, question } = call;
  return (
    <div className="told-call" data-outcome={outcome.kind}>
      <Icon name={iconOf(outcome)} />
      <div>
        <p dir="auto">
          {question === undefined ? <Deed call={call} /> : say('explain.asked', { question: visibleText(question) })}{' '}
          {outcomeText(call, words)}
        </p>
        {decision && (
          <p className="quiet" dir="auto">
            {decisionText(decision, words)}
          </p>
        )}
        {(isReasoned || call.voided) && outcome.kind === 'not_done' && <Cause call={call} outcome={outcome} />}
        {isReasoned && call.isMadeGood && <p className="quiet">{say('explain.madeGood')}</p>}
      </div>
    </div>
  );
}

function Deed({ call: { tool, args, outcome } }: { call: ToldCall }) {
  const { say } = useWords();
  const given = args.map(({ name, value }) =>
    say('explain.argument', {
      name: readableName(name),
      value: typeof value === 'boolean' ? say(value ? 'value.yes' : 'value.no') : readableValue(value),
    }),
  );
  return (
    <>
      {say(verbOf(outcome))} <strong>{tool === undefined ? say('call.unknownTool') : readableName(tool)}</strong>
      {given.length > 0 && <span className="quiet"> ({given.join('; ')})</span>}
      {say('explain.colon')}
    </>
  );
}

function verbOf(outcome: Outcome): WordKey {
  if (outcome.kind === 'running') return 'explain.using';
  if (outcome.kind === 'waiting') return 'explain.wanted';
  if (outcome.kind === 'lost') return 'explain.tried';
  if (outcome.kind !== 'not_done') return 'explain.used';
  return outcome.status === 'denied' || outcome.status === 'cancelled' ? 'explain.wanted' : 'explain.tried';
}

/** `product_line` → `product line`; anything else as it is. */
function readableValue(text: string): string {
  return /^[a-z]+(_[a-z]+)+$/.test(text) ? readableName(text) : visibleText(text);
}

type CauseProps = { call: ToldCall; outcome: Extract<Outcome, { kind: 'not_done' }> };

/** Why it was not done, where that says more than what came of it. */
function Cause({ call: { decision, voided, isTooLate }, outcome: { code, said } }: CauseProps) {
  const { say, wordFor } = useWords();
  const isRefused = decision?.kind === 'deny' || decision?.kind === 'expire';
  if (isRefused || code === undefined) return null;
  const own = voided ? say(`cause.void_${voided}`) : isTooLate ? say('cause.tooLate') : undefined;
  const sentence = own ?? wordFor('cause', code);
  return (
    <>
      {sentence !== code && <p className="quiet">{sentence}</p>}
      {said !== undefined && (
        <p className="quiet" dir="auto">
          {say('explain.said', { text: visibleText(said) })}
        </p>
      )}
    </>
  );
}

function decisionText({ kind, by, reason }: ToldDecision, { say }: Words): string {
  const sentence = say(`decided.${kind}`, { by: by === undefined ? say('explain.somebody') : visibleText(by) });
  return reason === undefined ? sentence : `${sentence} ${say('explain.reason', { reason: visibleText(reason) })}`;
}

function iconOf({ kind }: Outcome): IconName {
  if (kind === 'lost') return 'missing';
  if (kind === 'not_done') return 'stopped';
  if (kind === 'running') return 'operation';
  return kind === 'waiting' ? 'person' : 'done';
}

function outcomeText({ outcome, decision, voided, isTooLate }: ToldCall, { say, count, digits }: Words): string {
  switch (outcome.kind) {
    case 'rows':
      if (outcome.count === 0) return say('explain.noRows');
      return say('explain.rows', { count: outcome.count, shown: count(outcome.count) });
    case 'value':
      return say('explain.value', { value: outcome.isNumber ? digits(outcome.text) : visibleText(outcome.text) });
    case 'not_done':
      // The reason is told beside it.
      if (outcome.status === 'denied' && (decision || voided || isTooLate)) return say('explain.undone');
      return say(`explain.${outcome.status}`);
    case 'running':
      return say('explain.stillRunning');
    default:
      return say(`explain.${outcome.kind}`);
  }
}
