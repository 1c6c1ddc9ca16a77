/** Tool: something that an agent may call, with its parameters, effect and where it runs. */
import { z } from 'zod';
import { objectNameSchema, timeoutSchema, toolNameSchema } from './names.ts';
import { trustSchema } from './observation.ts';
import { toolKinds } from './words.ts';

const headersSchema = z.record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/), z.string().max(8_000));

/** An HTTP endpoint. `{name}` in the URL takes an argument; the rest goes to the query (GET, DELETE) or a JSON body. */
export const httpKindSchema = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: z.string().max(8_000),
  /** Values may hold `${secret:NAME}`. */
  headers: headersSchema.optional(),
});

/** A read-only query of a named data source, either fixed or taken from one argument. */
export const sqlKindSchema = z.strictObject({
  source: objectNameSchema,
  /** SQL with `:name` for each parameter; a parameter that was not given is null. */
  query: z.string().max(100_000).optional(),
  /** The argument that holds the SQL itself. */
  queryArgument: z.string().max(100).optional(),
  /** Rows that are read at the most. Default 1,000. */
  rowsMax: z.number().int().positive().max(100_000).optional(),
});

/** One of Pawl's own tools, offered under the name of this object. */
export const builtinKindSchema = z.strictObject({
  name: z.enum(['calculator', 'current_time', 'read_result', 'ask_user', 'direct_answer']),
});

const specShape = {
  description: z.string().min(1).max(10_000),
  /** JSON Schema of the arguments; the dialect is told by `$schema`, 2020-12 without it. */
  parameters: z.record(z.string(), z.unknown()).optional(),
  /** Whether a call changes something in the world. Default `read`. */
  effect: z.enum(['read', 'write']).optional(),
  /** Whether the same call with the same key may be sent again. Default: reads yes, writes no. */
  idempotent: z.boolean().optional(),
  businessKey: z.string().max(2_000).optional(),
  roles: z.array(z.string().min(1).max(100)).max(100).optional(),
  returns: z.strictObject({ dataClass: objectNameSchema.optional(), trust: trustSchema.optional() }).optional(),
  alternatives: z.array(toolNameSchema).max(20).optional(),
  /** From the start of a call to its end, up to 24 days. Default 30s. */
  timeout: timeoutSchema.optional(),
  /** Ends the call when its tool has sent nothing, not even progress, for this long. Default: only `timeout` ends it. */
  idleTimeout: timeoutSchema.optional(),
  /** Further tries after a transient failure of a call that may be repeated. Default 1. */
  retry: z.strictObject({ max: z.number().int().min(0).max(5) }).optional(),
  pool: objectNameSchema.optional(),
  http: httpKindSchema.optional(),
  mcp: z.strictObject({ server: objectNameSchema, tool: z.string().min(1).max(200) }).optional(),
  nats: z.strictObject({ subject: z.string().min(1).max(200) }).optional(),
  sql: sqlKindSchema.optional(),
  builtin: builtinKindSchema.optional(),
  skill: z.strictObject({ steps: z.array(z.record(z.string(), z.unknown())).min(1).max(50) }).optional(),
  agent: z.strictObject({ name: objectNameSchema }).optional(),
};

export type ToolKind = (typeof toolKinds)[number];

export const toolSpecSchema = z.strictObject(specShape).superRefine((spec, context) => {
  const named = toolKinds.filter((kind) => spec[kind] !== undefined);
  if (named.length !== 1) {
    const found = named.length === 0 ? 'none' : named.join(' and ');
    context.addIssue({ code: 'custom', message: `needs exactly one of ${toolKinds.join(', ')}; found ${found}` });
  }
  if (spec.sql && (spec.sql.query === undefined) === (spec.sql.queryArgument === undefined)) {
    context.addIssue({ code: 'custom', path: ['sql'], message: 'needs either query or queryArgument' });
  }
});
export type ToolSpec = z.infer<typeof toolSpecSchema>;

/** The kind that a tool's spec names. */
export function toolKindOf(spec: ToolSpec): ToolKind {
  const kind = toolKinds.find((candidate) => spec[candidate] !== undefined);
  if (!kind) throw new TypeError('a tool without a kind');
  return kind;
}
