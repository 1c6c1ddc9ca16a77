/** What the steps of a skill came to: a skill's result holds those of the calls that it made. Pure. */
import { isExactRecord, type ExactRecord, type ExactValue } from './exact-json.ts';

export type SkillStep = {
  name: string;
  tool: string;
  /** Like that of an observation, or `skipped`. */
  status: string;
  args: ExactRecord | undefined;
  data: ExactValue | undefined;
  message: string | undefined;
};

/** Undefined for what is no result of a skill, as the tool-runner makes it. */
export function skillStepsOf(value: ExactValue): SkillStep[] | undefined {
  if (!isExactRecord(value) || Object.keys(value).length !== 1 || !Array.isArray(value.steps)) return undefined;
  const steps = value.steps.map(stepOf);
  return steps.length > 0 && steps.every((step) => step !== undefined) ? steps : undefined;
}

function stepOf(value: ExactValue): SkillStep | undefined {
  if (!isExactRecord(value)) return undefined;
  const { name, tool, status, args, data, message } = value;
  if (typeof name !== 'string' || typeof tool !== 'string' || typeof status !== 'string') return undefined;
  return {
    name,
    tool,
    status,
    args: isExactRecord(args) ? args : undefined,
    data,
    message: typeof message === 'string' ? message : undefined,
  };
}
