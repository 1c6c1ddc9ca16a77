/**
 * Tool kind `nats`: one request to whoever listens on a subject, in any language. The wire is described in
 * `docs/nats-workers.md`. Must not reach subjects of Pawl or of the server, and must not read more than its cap.
 */
import { randomUUID } from 'node:crypto';
import type { Bus } from '@pawl/bus';
import { RejectedError, type Tool } from '@pawl/contracts';
import { traceHeaders } from '@pawl/telemetry';
import { BrokenOffError, refusal, type Failure, type Outcome } from '../call/outcome.ts';
import type { HeavyWork } from '../heavy/heavy-work.ts';
import type { Kind, KindCall } from './kind.ts';
import { ResponseTooLargeError, sizeOf } from '../results/take-body.ts';
import { askWorker, BrokenReplyError, NobodyListensError } from './nats/ask-worker.ts';
import { subjectProblem } from './nats/worker-subjects.ts';

export type NatsKindOptions = {
  bus: Pick<Bus, 'connection' | 'createInbox'>;
  /** Patterns of subjects that tools may use; `{app}` stands for the tool's app. */
  subjects: readonly string[];
  resultBytesMax: number;
  heavy: HeavyWork;
};

/** Room for headers in a message of the server's largest size. */
const headerBytes = 4_096;

export function createNatsKind({ bus, subjects, resultBytesMax, heavy }: NatsKindOptions): Kind {
  return {
    check(tool) {
      const problem = subjectProblem(tool.metadata.app, subjectOf(tool), subjects);
      if (problem !== undefined) throw new RejectedError('invalid_request', `spec.nats.subject: ${problem}`);
    },
    // The connection belongs to the service.
    close: async () => {},
    async execute(call) {
      const subject = subjectOf(call.tool);
      const problem = subjectProblem(call.app, subject, subjects);
      if (problem !== undefined) return refusal('target_not_allowed', `The tool's subject is not allowed: ${problem}.`);
      const payloadMax = (bus.connection.info?.max_payload ?? 1_048_576) - headerBytes;
      if (Buffer.byteLength(call.args.text) > payloadMax) {
        return refusal('invalid_arguments', `The arguments are larger than ${payloadMax} bytes.`, 'Send less at once.');
      }
      const { spool, onLife, signal } = call;
      const request = { subject, callId: randomUUID(), headers: headersOf(call), body: call.args.text };
      try {
        const options = { bus, bytesMax: resultBytesMax, spool, onLife, signal };
        const reply = await askWorker(request, options);
        return await heavy.run('outcomeOfReply', sizeOf(reply.body), reply);
      } catch (error) {
        return failureOf(error, subject);
      }
    },
  };
}

function subjectOf(tool: Tool): string {
  if (!tool.spec.nats) throw new TypeError('not a tool of kind nats');
  return tool.spec.nats.subject;
}

function headersOf({ app, tool, runId, effectKey, deadlineAtMs, trace }: KindCall): Record<string, string> {
  return {
    'pawl-schema': 'tool-call.v1',
    'pawl-part-ack': 'true',
    'pawl-app': app,
    'pawl-tool': tool.metadata.name,
    'pawl-deadline': new Date(deadlineAtMs).toISOString(),
    ...(runId === undefined ? {} : { 'pawl-run': runId }),
    ...(effectKey === undefined ? {} : { 'idempotency-key': effectKey }),
    ...traceHeaders(trace),
  };
}

function failureOf(error: unknown, subject: string): Outcome {
  if (error instanceof BrokenOffError) throw error;
  const failure = (code: Failure['code'], message: string, suggestion: string): Failure => ({
    kind: 'failure',
    code,
    message,
    suggestion,
    rawError: error instanceof Error ? `${error.name} on ${subject}: ${error.message}` : String(error),
    isTransient: false,
    effect: 'possible',
  });
  if (error instanceof NobodyListensError) {
    const told = failure(
      'tool_unreachable',
      'No worker of this tool is running.',
      'Call it again later, or use another tool.',
    );
    return { ...told, isTransient: true, effect: 'none' };
  }
  if (error instanceof ResponseTooLargeError) {
    return failure(
      'tool_result_too_large',
      'The answer of the tool is larger than what is taken.',
      'Ask for less, for example by a filter or a page.',
    );
  }
  if (error instanceof BrokenReplyError) {
    return failure('tool_failed', 'The answer of the tool broke off.', 'Call it again later, or use another tool.');
  }
  throw error;
}
