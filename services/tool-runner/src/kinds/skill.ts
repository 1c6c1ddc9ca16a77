/**
 * Tool kind `skill`: a declared sequence or graph of calls of other tools, offered as one tool. Every call goes the way of any
 * call: validated, with its own deadline, at most once. What each of them came to is shown nested in the result.
 * A skill calls nothing that it doesn't declare, and no other skill.
 */
import { cutData, parseArguments } from '@pawl/calls';
import { RejectedError } from '@pawl/contracts';
import { refusal, type Outcome } from '../call/outcome.ts';
import type { Kind, KindCall } from './kind.ts';
import { evaluateExpression, ExpressionError } from './skill/expressions.ts';
import { parseSkill, type SkillStep } from './skill/skill-plan.ts';

/** What a step came to; `data` is JSON text. */
type StepDone = {
  name: string;
  tool: string;
  args: string | undefined;
  status: string;
  data: string | null;
  message: string | null;
  suggestion: string | null;
};

/** The whole of a skill's results is bounded like any other result. */
export function createSkillKind({ resultBytesMax }: { resultBytesMax: number }): Kind {
  return {
    check(tool) {
      const plan = parseSkill(tool);
      if ('problem' in plan) throw new RejectedError('invalid_request', plan.problem);
    },
    close: async () => {},
    async execute(call) {
      const plan = parseSkill(call.tool);
      if ('problem' in plan) return refusal('tool_failed', `The skill is declared wrongly: ${plan.problem}`);
      const done = await runSteps(plan.steps, call);
      return outcomeOf(plan.steps, done, { maxChars: call.maxChars, resultBytesMax });
    },
  };
}

/** Steps begin as soon as those that they wait for are over; after a failure that stops, no further one begins. */
async function runSteps(steps: readonly SkillStep[], call: KindCall): Promise<Map<string, StepDone>> {
  const done = new Map<string, StepDone>();
  const underWay = new Map<string, Promise<void>>();
  let isStopped = false;
  const run = async (step: SkillStep): Promise<void> => {
    for (const name of step.after) await underWay.get(name);
    if (isStopped || call.signal.aborted) return;
    const result = await runStep(step, call, done);
    done.set(step.name, result);
    if (isFailed(result) && step.onError !== 'continue') isStopped = true;
  };
  for (const step of steps) underWay.set(step.name, run(step));
  await Promise.all(underWay.values());
  call.signal.throwIfAborted();
  return done;
}

function isFailed({ status }: StepDone): boolean {
  return status !== 'ok' && status !== 'skipped';
}

async function runStep(step: SkillStep, call: KindCall, done: ReadonlyMap<string, StepDone>): Promise<StepDone> {
  const { name, tool } = step;
  const nothing = { name, tool, args: undefined, data: null, message: null, suggestion: null };
  const failed = (message: string): StepDone => ({ ...nothing, status: 'error', message });
  try {
    const input = inputOf(call, done);
    if (step.when !== undefined && (await evaluateExpression(step.when, input)) !== 'true') {
      return { ...nothing, status: 'skipped' };
    }
    const parsed = parseArguments(await argumentsOf(step, input));
    if ('failure' in parsed) return failed(`The mapping of its arguments gave no arguments: ${parsed.failure.message}`);
    const args = parsed.args.text;
    const { observation } = await call.callTool({ name: tool, args, step: name });
    const { status, data, message, suggestion } = observation;
    return { name, tool, args, status, data, message, suggestion };
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return failed(`The mapping of its arguments failed: ${error.message}`);
  }
}

/** What expressions see: `args` of the skill, and of each step that is over `steps.<name>.{status, data, message}`. */
function inputOf(call: KindCall, done: ReadonlyMap<string, StepDone>): string {
  const steps = [...done.values()].map(
    ({ name, status, data, message }) =>
      `${JSON.stringify(name)}:{"status":"${status}","data":${data ?? 'null'},"message":${JSON.stringify(message)}}`,
  );
  return `{"args":${call.args.text},"steps":{${steps.join(',')}}}`;
}

async function argumentsOf({ args }: SkillStep, input: string): Promise<string> {
  if (args === undefined) return '{}';
  if (typeof args === 'string') return (await evaluateExpression(args, input)) ?? '{}';
  const members: string[] = [];
  for (const [name, given] of Object.entries(args)) {
    const value = typeof given === 'string' ? await evaluateExpression(given, input) : JSON.stringify(given);
    if (value !== undefined) members.push(`${JSON.stringify(name)}:${value}`);
  }
  return `{${members.join(',')}}`;
}

type Limits = { maxChars: number; resultBytesMax: number };

function outcomeOf(steps: readonly SkillStep[], done: ReadonlyMap<string, StepDone>, limits: Limits): Outcome {
  const results = steps.map((step) => done.get(step.name)).filter((result) => result !== undefined);
  const whole = render(results);
  if (whole.length > limits.resultBytesMax) {
    return {
      ...refusal('tool_result_too_large', 'The results of the steps are larger than what is taken.', 'Ask for less.'),
      effect: 'possible',
    };
  }
  const shown = whole.length <= limits.maxChars ? whole : render(results, limits.maxChars);
  const failed = steps.find((step) => step.onError !== 'continue' && isFailedIn(done, step.name));
  const failure = failed && done.get(failed.name);
  if (!failure) return { kind: 'result', data: whole, ...(shown === whole ? {} : { shown }) };
  const isUncertain = results.some(({ status }) => status === 'in_doubt');
  return {
    kind: 'failure',
    code: 'tool_failed',
    message: `The step ${failure.name} of the skill failed${failure.message === null ? '.' : `: ${failure.message}`}`,
    suggestion: failure.suggestion ?? 'Read what the steps came to, and go on with other tools.',
    data: shown,
    isTransient: false,
    effect: isUncertain ? 'possible' : 'none',
  };
}

function isFailedIn(done: ReadonlyMap<string, StepDone>, name: string): boolean {
  const result = done.get(name);
  return result !== undefined && isFailed(result);
}

/** With a limit, each step's data gets its share of the room, so that all steps stay in sight. */
function render(results: readonly StepDone[], maxChars?: number): string {
  const overheadChars = 160;
  const share = maxChars === undefined ? undefined : Math.floor(maxChars / Math.max(1, results.length)) - overheadChars;
  const fitted = (json: string, part: number) => (share === undefined ? json : cutData(json, share * part).data);
  const steps = results.map(({ name, tool, args, status, data, message }) => {
    const members = [
      `"name":${JSON.stringify(name)},"tool":${JSON.stringify(tool)},"status":${JSON.stringify(status)}`,
      ...(args === undefined ? [] : [`"args":${fitted(args, 0.3)}`]),
      ...(data === null ? [] : [`"data":${fitted(data, 0.7)}`]),
      ...(message === null ? [] : [`"message":${JSON.stringify(message)}`]),
    ];
    return `{${members.join(',')}}`;
  });
  return `{"steps":[${steps.join(',')}]}`;
}
