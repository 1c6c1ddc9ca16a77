/**
 * Decides one turn by rules: values of `let` are computed in order, the first rule whose condition holds gives the reply.
 *
 * Must not keep anything between turns.
 */
import type { Conversation } from '../conversation/conversation.ts';
import { type SimCall, SimRuleError, type SimReply } from '../completion/reply.ts';
import type { Expression } from './expression.ts';

/** A compiled rule. Exactly one of `calls` and `answer` is there. */
export interface Rule {
  name: string;
  when: Expression;
  say?: Expression;
  calls?: Expression;
  answer?: Expression;
}

/** A compiled model of a script. */
export interface RuleSet {
  model: string;
  values: { name: string; value: Expression }[];
  rules: Rule[];
}

/** The reply of the first rule that holds. Rejects with SimRuleError when none holds or one fails to evaluate. */
export async function decideReply(ruleSet: RuleSet, context: Conversation): Promise<SimReply> {
  const variables: Record<string, unknown> = {};
  for (const { name, value } of ruleSet.values) {
    variables[name] = await evaluate(value, { ruleSet, place: `let.${name}`, context, variables });
  }
  for (const rule of ruleSet.rules) {
    const at = (part: string) => ({ ruleSet, place: `rule ${rule.name}, ${part}`, context, variables });
    if (!isTrue(await evaluate(rule.when, at('when')))) continue;
    return await replyOf(rule, at);
  }
  throw new SimRuleError('sim_no_rule', `no rule of model ${ruleSet.model} matches: ${summary(context)}`);
}

interface Evaluation {
  ruleSet: RuleSet;
  place: string;
  context: Conversation;
  variables: Record<string, unknown>;
}

async function replyOf(rule: Rule, at: (part: string) => Evaluation): Promise<SimReply> {
  if (rule.answer !== undefined) return { answer: await textFrom(rule.answer, at('answer')) };
  if (rule.calls === undefined) throw failed(at('calls'), 'a rule needs calls or an answer');
  const say = rule.say === undefined ? {} : { say: await textFrom(rule.say, at('say')) };
  return { ...say, calls: callsFrom(await evaluate(rule.calls, at('calls')), at('calls')) };
}

async function evaluate(expression: Expression, evaluation: Evaluation): Promise<unknown> {
  try {
    return await expression(evaluation.context, evaluation.variables);
  } catch (error) {
    throw failed(evaluation, error instanceof Error ? error.message : String(error));
  }
}

async function textFrom(expression: Expression, evaluation: Evaluation): Promise<string> {
  const value = await evaluate(expression, evaluation);
  if (typeof value !== 'string' || value === '')
    throw failed(evaluation, `expected text, got ${JSON.stringify(value)}`);
  return value;
}

function callsFrom(value: unknown, evaluation: Evaluation): SimCall[] {
  const list = value === undefined ? [] : Array.isArray(value) ? (value as unknown[]) : [value];
  if (list.length === 0) throw failed(evaluation, 'expected at least one {tool, args}, got nothing');
  return list.map((item) => {
    if (!isCall(item)) throw failed(evaluation, `expected {tool, args}, got ${JSON.stringify(item)}`);
    return { tool: item.tool, args: item.args ?? {} };
  });
}

function isCall(value: unknown): value is { tool: string; args?: unknown } {
  return typeof value === 'object' && value !== null && 'tool' in value && typeof value.tool === 'string';
}

/** JSONata's own notion of true: empty values and lists without a true member are false. */
function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isTrue);
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function failed(evaluation: Evaluation, message: string): SimRuleError {
  return new SimRuleError('sim_rule_failed', `model ${evaluation.ruleSet.model}, ${evaluation.place}: ${message}`);
}

function summary(context: Conversation): string {
  const observations = context.observations.map((one) => `${one.tool}:${one.status}`).join(', ') || 'none';
  const tools = context.tools.join(', ') || 'none';
  return `question "${context.question.slice(0, 200)}", turn ${context.turn}, tools ${tools}, observations ${observations}`;
}
