/**
 * `GET /v1/mcp-servers/{name}/tools`: what a server offers, and whether the app has accepted it.
 * `POST /v1/mcp-servers/{name}/tools`: accepts the definitions as they are now and declares them as tools of the app.
 */
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import { fingerprint, RejectedError, toolSchema, type RegistryObject, type Tool } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import { connectFailure } from '../kinds/mcp/call-failure.ts';
import type { DefinitionGate } from '../kinds/mcp/definition-gate.ts';
import type { McpDefinition, McpToolList } from '../kinds/mcp/list-tools.ts';
import type { McpServers } from '../kinds/mcp/mcp-servers.ts';
import { toolNameOf } from '../kinds/mcp/tool-names.ts';

export type McpToolsOptions = {
  registry: Registry;
  authorizer: Authorizer;
  servers: McpServers;
  gate: DefinitionGate;
  /** Throws `RejectedError` for a tool that could never work. */
  check: (object: RegistryObject) => void;
};

const params = z.object({ name: z.string().min(1).max(100) });
const acceptBody = z.strictObject({
  /** Names as the server gives them. Absent: all. */
  tools: z.array(z.string()).max(10_000).optional(),
});
const listWithinMs = 30_000;

export function serveMcpTools(http: Http, options: McpToolsOptions): void {
  const onRequest = guardApp(options.authorizer, 'registry');
  http.get('/v1/mcp-servers/:name/tools', { onRequest, schema: { params } }, async (request) => {
    const { app } = options.authorizer.authorizeApp(request, 'registry');
    const { name: server } = params.parse(request.params);
    const { tools, warnings } = await listOf(app, server, options);
    const accepted = await options.gate.acceptedOf(app, server);
    const items = [...tools.values()].map((definition) => {
      const hash = fingerprint(definition);
      const known = accepted.get(definition.name);
      const state = known === undefined ? 'new' : known === hash ? 'accepted' : 'changed';
      return { tool: definition.name, name: toolNameOf(server, definition.name), state, hash, definition };
    });
    return { items, warnings };
  });

  http.post('/v1/mcp-servers/:name/tools', { onRequest, schema: { params, body: acceptBody } }, async (request) => {
    const { app } = options.authorizer.authorizeApp(request, 'registry');
    const { name: server } = params.parse(request.params);
    const { tools: wanted } = acceptBody.parse(request.body);
    const { tools, warnings } = await listOf(app, server, options);
    const unknown = wanted?.find((name) => !tools.has(name));
    if (unknown !== undefined)
      throw new RejectedError('unknown_tool', `the server ${server} offers no tool ${unknown}`);
    const items: { tool: string; name: string; revision: string }[] = [];
    for (const definition of tools.values()) {
      if (wanted && !wanted.includes(definition.name)) continue;
      const problem = await accept(definition, { app, server, options });
      if ('problem' in problem) warnings.push(problem.problem);
      else items.push({ tool: definition.name, ...problem });
    }
    return { items, warnings };
  });
}

async function listOf(app: string, server: string, { servers }: McpToolsOptions): Promise<McpToolList> {
  try {
    const opened = await servers.open(app, server);
    if ('failure' in opened) throw new RejectedError('not_found', opened.failure.message);
    const { tools, warnings } = await opened.connection.tools(AbortSignal.timeout(listWithinMs));
    return { tools, warnings: [...warnings] };
  } catch (error) {
    if (error instanceof RejectedError) throw error;
    const { code, message } = connectFailure(error, server);
    throw new RejectedError(code, message);
  }
}

type Accepting = { app: string; server: string; options: McpToolsOptions };

/** One tool that can't be declared costs itself alone. */
async function accept(
  definition: McpDefinition,
  { app, server, options }: Accepting,
): Promise<{ name: string; revision: string } | { problem: string }> {
  const name = toolNameOf(server, definition.name);
  const known = options.registry.find('Tool', app, name)?.object;
  const isOurs = !known || (known.spec.mcp?.server === server && known.spec.mcp.tool === definition.name);
  if (!isOurs) return { problem: `${definition.name}: there is another tool ${name} already.` };
  try {
    const tool = toolOf(definition, { app, server, name });
    options.check(tool);
    const { revision } = await options.registry.put(tool);
    await options.gate.accept({ app, server, tool: definition.name, hash: fingerprint(definition) });
    return { name, revision };
  } catch (error) {
    if (!(error instanceof RejectedError) && !(error instanceof z.ZodError)) throw error;
    return { problem: `${definition.name} can't be declared: ${error.message.slice(0, 500)}` };
  }
}

/** Without a word of the server on it, a tool counts as writing. */
function toolOf(definition: McpDefinition, { app, server, name }: { app: string; server: string; name: string }): Tool {
  const { description, annotations, inputSchema } = definition;
  const text = (description ?? '').trim().slice(0, 10_000);
  return toolSchema.parse({
    apiVersion: 'pawl.dev/v1',
    kind: 'Tool',
    metadata: { app, name },
    spec: {
      description: text === '' ? `The tool ${definition.name} of ${server}.` : text,
      parameters: inputSchema,
      effect: annotations?.readOnlyHint === true ? 'read' : 'write',
      ...(annotations?.idempotentHint === true ? { idempotent: true } : {}),
      mcp: { server, tool: definition.name },
    },
  });
}
