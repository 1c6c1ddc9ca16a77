/** What a declared object must satisfy beyond its schema. Throws `RejectedError`; does no I/O. */
import type { ArgumentValidator } from '@pawl/calls';
import {
  RejectedError,
  toolKindOf,
  type McpServer,
  type RegistryObject,
  type Tool,
  type ToolKind,
  type ToolSpec,
} from '@pawl/contracts';
import type { Kind } from '../kinds/kind.ts';
import { secretNamesIn } from '../kinds/secrets.ts';
import { businessKeyProblem } from '../call/business-key.ts';
import { commandProblem } from '../kinds/mcp/mcp-servers.ts';
import type { Targets } from '@pawl/service/targets';

export type CheckOptions = {
  kinds: Partial<Record<ToolKind, Kind>>;
  validator: ArgumentValidator;
  targets: Targets;
  /** Commands that MCP servers may be started with. */
  commands: readonly string[];
};

export function createObjectCheck(options: CheckOptions): (object: RegistryObject) => void {
  return (object) => {
    if (object.kind === 'Tool') checkTool(object, options);
    if (object.kind === 'DataSource') checkDataSource(object.spec.postgres.url, options.targets);
    if (object.kind === 'McpServer') checkMcpServer(object, options);
  };
}

function checkTool(tool: Tool, { kinds, validator }: CheckOptions): void {
  const { spec } = tool;
  const name = toolKindOf(spec);
  const kind = kinds[name];
  // Agents as tools are run by the orchestrator.
  if (!kind && name !== 'agent')
    throw new RejectedError('not_supported', `spec.${name}: tools of this kind are not supported yet`);
  checkBusinessKey(spec);
  const problem = spec.parameters ? validator.schemaProblem(spec.parameters) : undefined;
  if (problem !== undefined) throw new RejectedError('invalid_request', `spec.parameters: ${problem}`);
  const type = spec.parameters?.['type'];
  if (type !== undefined && type !== 'object') {
    throw new RejectedError('invalid_request', 'spec.parameters.type has to be object, since arguments come by name');
  }
  kind?.check(tool);
}

function checkBusinessKey({ businessKey, effect }: ToolSpec): void {
  if (businessKey === undefined) return;
  if (effect !== 'write')
    throw new RejectedError('invalid_request', 'spec.businessKey is for tools with effect: write');
  const problem = businessKeyProblem(businessKey);
  if (problem !== undefined)
    throw new RejectedError('invalid_request', `spec.businessKey is no CEL expression: ${problem}`);
}

function checkMcpServer({ spec }: McpServer, { targets, commands }: CheckOptions): void {
  if ((spec.url === undefined) === (spec.command === undefined)) {
    throw new RejectedError('invalid_request', 'spec needs either url or command');
  }
  const url = spec.url === undefined ? undefined : new URL(spec.url);
  const problem = url ? targets.problemOf(url) : commandProblem(spec, commands);
  if (problem !== undefined) throw new RejectedError('target_not_allowed', problem);
}

function checkDataSource(url: string, targets: Targets): void {
  // An address with a secret in it can only be judged when it is used.
  if (secretNamesIn(url).length > 0) return;
  const parsed = URL.parse(url);
  if (parsed?.protocol !== 'postgres:' && parsed?.protocol !== 'postgresql:') {
    throw new RejectedError('invalid_request', 'spec.postgres.url has to be a postgres:// URL');
  }
  const problem = targets.problemOfHost(parsed.hostname);
  if (problem !== undefined) throw new RejectedError('target_not_allowed', problem);
}
