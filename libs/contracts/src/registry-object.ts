/** Declared objects (`apiVersion: pawl.dev/v1`), as they are written in YAML and sent with PUT. */
import { z } from 'zod';
import { agentSpecSchema } from './agent.ts';
import { budgetSpecSchema } from './budget.ts';
import { modelRouteSpecSchema } from './model-route.ts';
import { objectNameSchema, sha256Schema, toolNameSchema } from './names.ts';
import { toolSpecSchema } from './tool.ts';

const apiVersion = z.literal('pawl.dev/v1');
const metadata = z.strictObject({ app: objectNameSchema, name: objectNameSchema });

export const agentSchema = z.strictObject({ apiVersion, kind: z.literal('Agent'), metadata, spec: agentSpecSchema });
export type Agent = z.infer<typeof agentSchema>;

export const toolSchema = z.strictObject({
  apiVersion,
  kind: z.literal('Tool'),
  metadata: z.strictObject({ app: objectNameSchema, name: toolNameSchema }),
  spec: toolSpecSchema,
});
export type Tool = z.infer<typeof toolSchema>;

export const modelRouteSchema = z.strictObject({
  apiVersion,
  kind: z.literal('ModelRoute'),
  metadata,
  spec: modelRouteSpecSchema,
});
export type ModelRoute = z.infer<typeof modelRouteSchema>;

export const budgetSchema = z.strictObject({ apiVersion, kind: z.literal('Budget'), metadata, spec: budgetSpecSchema });
export type Budget = z.infer<typeof budgetSchema>;

export const dataSourceSchema = z.strictObject({
  apiVersion,
  kind: z.literal('DataSource'),
  metadata,
  spec: z.strictObject({
    /** The URL may be, or hold, `${secret:NAME}`. */
    postgres: z.strictObject({ url: z.string().min(1).max(2_000) }),
    /** Tables that queries may read, as `schema.table`. Absent: what the database role may read. */
    tables: z.array(z.string().min(1).max(200)).max(1_000).optional(),
  }),
});
export type DataSource = z.infer<typeof dataSourceSchema>;

export const mcpServerSchema = z.strictObject({
  apiVersion,
  kind: z.literal('McpServer'),
  metadata,
  spec: z.strictObject({
    url: z.url({ protocol: /^https?$/ }).optional(),
    command: z.string().min(1).optional(),
    args: z.array(z.string()).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    /** OAuth 2 client credentials, sent to this issuer alone. `clientSecret` may be, and should be, `${secret:NAME}`. */
    oauth: z
      .strictObject({
        issuer: z.url({ protocol: /^https?$/ }),
        clientId: z.string().min(1).max(500),
        clientSecret: z.string().min(1).max(2_000),
        scope: z.string().max(1_000).optional(),
      })
      .optional(),
    env: z.record(z.string(), z.string()).optional(),
    roots: z.array(z.string()).optional(),
  }),
});
export type McpServer = z.infer<typeof mcpServerSchema>;

export const registryObjectSchema = z.discriminatedUnion('kind', [
  agentSchema,
  toolSchema,
  modelRouteSchema,
  budgetSchema,
  dataSourceSchema,
  mcpServerSchema,
]);
export type RegistryObject = z.infer<typeof registryObjectSchema>;
export type RegistryKind = RegistryObject['kind'];
export type RegistryObjectOf<K extends RegistryKind> = Extract<RegistryObject, { kind: K }>;

/** Kind → the word in its path (`/v1/agents/{name}`) and in its KV keys. */
export const registryPaths = {
  Agent: 'agents',
  Tool: 'tools',
  ModelRoute: 'routes',
  Budget: 'budgets',
  DataSource: 'data-sources',
  McpServer: 'mcp-servers',
} as const satisfies Record<RegistryKind, string>;

/** A stored object with the hash of its content. */
export const revisionedSchema = z.object({
  revision: sha256Schema,
  updatedAt: z.string(),
  object: registryObjectSchema,
});
/** `revisionedSchema` for one kind of object. */
export type Revisioned<K extends RegistryKind = RegistryKind> = {
  revision: string;
  updatedAt: string;
  object: RegistryObjectOf<K>;
};

/**
 * What a run is pinned to when it starts (I7): its agent and all that this one can reach, stored once under the hash of its
 * content. Only the tools that the agent names are the run's own.
 */
export const definitionSchema = z.object({
  v: z.literal(1),
  agent: z.object({ revision: sha256Schema, object: agentSchema }),
  /** The agent's tools, and those that its skills and the agents behind its tools call. */
  tools: z.array(z.object({ revision: sha256Schema, object: toolSchema })),
  /** The agents behind its tools. */
  agents: z.array(z.object({ revision: sha256Schema, object: agentSchema })).optional(),
});
export type Definition = z.infer<typeof definitionSchema>;
