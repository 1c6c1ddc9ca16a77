/**
 * Calls that a tool makes of other tools, as a skill does. They go the way of any call, under the rights of the call they
 * belong to: a reading tool can't write through another one, a role that is missing stays missing, and what the agent has
 * put under approval is not called behind its back.
 */
import { failedObservation, toolKindOf, type Agent, type Tool } from '@pawl/contracts';
import { newSpanId } from '@pawl/telemetry';
import { recordCallSpan } from './call-span.ts';
import { isWrite } from './call/observation-of.ts';
import type { Report } from './effects/report.ts';
import type { CallRequest, CallRunner } from './run-call.ts';

/** One call of another tool: `step` names it within the call it belongs to. */
export type NestedCall = { name: string; args: string; step: string };

export type NestedContext = {
  request: CallRequest;
  signal: AbortSignal;
  deadlineAtMs: number;
  runCall: CallRunner;
  /** A declared tool of an app. */
  findTool: (app: string, name: string) => Tool | undefined;
};

/** The whole result is wanted, so that it can be mapped; the kinds have caps of their own. */
const uncutChars = 64 * 1024 * 1024;

export function createNestedCaller(context: NestedContext): (call: NestedCall) => Promise<Report> {
  const { request, signal, deadlineAtMs, runCall, findTool } = context;
  return async ({ name, args, step }) => {
    const tool = request.pinned?.tools.find((each) => each.metadata.name === name) ?? findTool(request.app, name);
    const problem = tool ? problemOf(tool, request) : `There is no tool ${name}.`;
    if (!tool || problem !== undefined) return denied(tool ? 'tool_not_allowed' : 'unknown_tool', problem ?? '');
    const trace = { ...request.trace, spanId: newSpanId() };
    const { tool: outer, position } = request;
    const report = await runCall({
      ...request,
      tool,
      args,
      maxChars: uncutChars,
      deadlineAtMs,
      parentSignal: signal,
      position: position && { ...position, within: `${outer.metadata.name}.${step}` },
      trace,
    });
    const run =
      position && request.callId !== undefined ? { runId: position.runId, callId: request.callId } : undefined;
    recordCallSpan({ app: request.app, tool: name, run, report, trace, parentSpanId: request.trace.spanId });
    return report;
  };
}

const nestableKinds = new Set(['http', 'mcp', 'nats', 'sql', 'builtin']);

function problemOf(tool: Tool, { tool: outer, user, pinned }: CallRequest): string | undefined {
  const { name } = tool.metadata;
  if (!nestableKinds.has(toolKindOf(tool.spec))) return `${name} can't be a step of another tool.`;
  if (isWrite(tool.spec) && !isWrite(outer.spec)) {
    return `${name} writes, and ${outer.metadata.name} is declared as a tool that only reads.`;
  }
  const { roles } = tool.spec;
  // Without a run there is no user: an app tries its own tool.
  if (roles && pinned && !roles.some((role) => user?.roles?.includes(role))) return `The user may not use ${name}.`;
  if (asksForApproval(pinned?.agent, name)) return `${name} needs an approval of its own: call it directly.`;
  return undefined;
}

function asksForApproval(agent: Agent | undefined, tool: string): boolean {
  return (agent?.spec.approvals ?? []).some((approval) => approval.tool === tool);
}

function denied(code: 'unknown_tool' | 'tool_not_allowed', message: string): Report {
  const observation = failedObservation(code === 'unknown_tool' ? 'error' : 'denied', { code, message });
  return { observation, trust: 'trusted', attempt: 1, startedAt: new Date().toISOString(), durationMs: 0 };
}
