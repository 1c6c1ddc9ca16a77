/**
 * What a worker's reply means for the call. Pure. Errors are told as NATS services tell them: by the headers
 * `Nats-Service-Error-Code` and `Nats-Service-Error`.
 */
import { compactJson, maxDepthOf, textData } from '@pawl/calls';
import type { Failure, Outcome } from '../../call/outcome.ts';
import type { Body } from '../../results/take-body.ts';

export type WorkerReply = {
  body: Body;
  /** Absent on success. */
  error?: { code: string; message: string };
};

/** Deeper JSON is shown as a text: readers further on may not take it. */
const jsonDepthMax = 500;
const errorCharsMax = 4_000;
const transientCodes = new Set(['408', '502', '503', '504']);

export function outcomeOfReply({ body, error }: WorkerReply): Outcome {
  if ('stored' in body) return error ? failureOf('', error) : body.stored;
  const text = new TextDecoder().decode(body.bytes);
  if (error) return failureOf(text, error);
  if (text === '') return { kind: 'result', data: 'null', note: 'The tool answered without content.' };
  return { kind: 'result', data: jsonOf(text) ?? textData(text) };
}

/** As with HTTP: an answer in the 400s says that the tool refused; any other leaves open how far it came. */
function failureOf(body: string, { code, message }: { code: string; message: string }): Failure {
  const isRefusal = /^4\d\d$/.test(code) && code !== '408';
  const said = body !== '' && body.length <= errorCharsMax ? jsonOf(body) : undefined;
  const told = said ?? JSON.stringify(message.slice(0, errorCharsMax).toWellFormed());
  return {
    kind: 'failure',
    code: code === '429' ? 'rate_limited' : 'tool_failed',
    message: isRefusal ? `The tool refused the call (${code}).` : 'The tool failed while it worked on the call.',
    suggestion: isRefusal
      ? 'Read what the tool says, correct the arguments, or use another tool.'
      : 'Call it again later, or use another tool.',
    ...(isRefusal ? { data: told } : {}),
    rawError: `${code} ${message}\n${body.slice(0, 16_000)}`,
    isTransient: transientCodes.has(code),
    effect: isRefusal ? 'none' : 'possible',
  };
}

function jsonOf(text: string): string | undefined {
  if (maxDepthOf(text) > jsonDepthMax) return undefined;
  try {
    JSON.parse(text);
    return compactJson(text.trim());
  } catch {
    return undefined;
  }
}
