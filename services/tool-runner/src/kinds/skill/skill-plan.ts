/** The declared steps of a skill: read, checked, and put in order. Pure. */
import { z } from 'zod';
import { toolNameSchema, type Tool } from '@pawl/contracts';
import { expressionProblem } from './expressions.ts';

const stepNameSchema = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,62}$/, 'expected a name such as slow_queries');
const expressionSchema = z.string().min(1).max(10_000);

const stepSchema = z.strictObject({
  name: stepNameSchema,
  tool: toolNameSchema,
  /** One expression for all arguments, or one per argument; what is not a text is taken as it stands. */
  args: z.union([expressionSchema, z.record(z.string(), z.unknown())]).optional(),
  /** The step is left out unless this is true. */
  when: expressionSchema.optional(),
  /** Steps that have to be over before. Default: the one before; `[]` begins at once. */
  after: z.array(stepNameSchema).max(50).optional(),
  /** Default `stop`. */
  onError: z.enum(['stop', 'continue']).optional(),
});

export type SkillStep = Omit<z.infer<typeof stepSchema>, 'after'> & { after: string[] };

/** The steps in their declared order, each with what it waits for; or a sentence on what is wrong. */
export function parseSkill(tool: Tool): { steps: SkillStep[] } | { problem: string } {
  const { skill } = tool.spec;
  if (!skill) throw new TypeError('not a tool of kind skill');
  const parsed = z.array(stepSchema).safeParse(skill.steps);
  if (!parsed.success) return { problem: `spec.skill.steps: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}` };
  const steps = parsed.data.map((step, at) => ({ ...step, after: step.after ?? namesBefore(parsed.data, at) }));
  for (const [at, step] of steps.entries()) {
    const problem = problemOf(step, steps.slice(0, at));
    if (problem !== undefined) return { problem: `spec.skill.steps[${at}] (${step.name}): ${problem}` };
  }
  return { steps };
}

function namesBefore(steps: readonly { name: string }[], at: number): string[] {
  const before = steps[at - 1];
  return before ? [before.name] : [];
}

/** Waiting for earlier steps only, steps can't wait for each other. */
function problemOf(step: SkillStep, earlier: readonly SkillStep[]): string | undefined {
  const names = new Set(earlier.map(({ name }) => name));
  if (names.has(step.name)) return 'there is another step of this name';
  const unknown = step.after.find((name) => !names.has(name));
  if (unknown !== undefined) return `after: there is no earlier step ${unknown}`;
  for (const source of expressionsOf(step)) {
    const problem = expressionProblem(source);
    if (problem !== undefined) return `"${source.slice(0, 100)}" is no JSONata expression: ${problem}`;
  }
  return undefined;
}

function expressionsOf({ args, when }: SkillStep): string[] {
  const ofArgs = typeof args === 'string' ? [args] : Object.values(args ?? {});
  return [...ofArgs, when].filter((source) => typeof source === 'string');
}
