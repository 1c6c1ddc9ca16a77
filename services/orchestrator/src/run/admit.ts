/**
 * Whether a call that the model asked for may be made. What may not is answered at once with an observation that says
 * what would be allowed; nothing is ever dropped (I2).
 */
import {
  failedObservation,
  fingerprintJson,
  isJson,
  type ActedCall,
  type Definition,
  type Observation,
  type RunUser,
  type Tool,
  type ToolCall,
} from '@pawl/contracts';

export type PinnedTool = Definition['tools'][number];

export type Admission = { call: ActedCall; answer?: Observation };

/** Tools that a user may use: those without roles, and those that name a role of the user's. */
export function allowedTools(definition: Definition, user: RunUser | undefined): PinnedTool[] {
  return definition.tools.filter(({ object }) => mayUse(object, user));
}

/** Judges the calls of one thought, in order; `callsLeft` is how many the run may still make. Closing calls get no tools. */
export function admitCalls(
  calls: ToolCall[],
  from: { m: number; definition: Definition; user: RunUser | undefined; callsLeft: number; isClosing: boolean },
): Admission[] {
  const allowed = allowedTools(from.definition, from.user);
  let left = from.callsLeft;
  return calls.map((asked, i) => {
    const tool = allowed.find(({ object }) => object.metadata.name === asked.tool);
    const args = asked.args.trim() === '' ? '{}' : asked.args;
    const call = {
      i,
      callId: `call_${from.m}_${i}`,
      tool: asked.tool,
      args,
      ...(tool ? { toolRevision: tool.revision } : {}),
      ...(isJson(args) ? { argsHash: fingerprintJson(args) } : {}),
    };
    const answer = from.isClosing ? tooLate : refuse(asked, { tool, args, allowed, left });
    if (!answer) left -= 1;
    return answer ? { call: { ...call, admission: 'answered' }, answer } : { call: { ...call, admission: 'run' } };
  });
}

const tooLate = failedObservation('denied', {
  code: 'tool_not_allowed',
  message: 'The run is being closed: tools are no longer available.',
});

function refuse(
  asked: ToolCall,
  about: { tool: PinnedTool | undefined; args: string; allowed: PinnedTool[]; left: number },
): Observation | undefined {
  if (!about.tool) {
    const names = about.allowed.map(({ object }) => object.metadata.name).join(', ');
    return failedObservation('denied', {
      code: 'unknown_tool',
      message: `There is no tool ${JSON.stringify(asked.tool.slice(0, 100))} that you may use.`,
      suggestion: names === '' ? 'Answer without a tool.' : `Use one of: ${names}.`,
    });
  }
  const mistake = jsonMistake(about.args);
  if (mistake) {
    return failedObservation('error', {
      code: 'invalid_arguments_json',
      message: `The arguments of ${asked.tool} are not valid JSON: ${mistake}`,
      suggestion: 'Send the arguments again as one complete JSON object.',
    });
  }
  if (about.left <= 0) {
    return failedObservation('denied', {
      code: 'too_many_tool_calls',
      message: 'This run has no tool calls left.',
      suggestion: 'Answer with what you know.',
    });
  }
  return undefined;
}

/** What is wrong with the text as a JSON object, or undefined. Never quotes the text itself. */
function jsonMistake(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? undefined : 'an object was expected';
  } catch (error) {
    const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    return position ? `it breaks off or goes wrong at character ${position}` : 'it ends too early';
  }
}

function mayUse(tool: Tool, user: RunUser | undefined): boolean {
  const { roles } = tool.spec;
  return !roles || roles.some((role) => user?.roles?.includes(role));
}
