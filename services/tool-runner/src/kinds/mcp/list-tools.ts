/**
 * Reads the tools that a server offers: every page, up to a bound, one broken definition at a time (C6), and again when the list
 * changed while it was read (C15).
 */
import type { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { headerProblem } from './header-declarations.ts';

/** A definition as the server gives it; what isn't named here is kept, too. */
const definitionSchema = z.looseObject({
  name: z.string().min(1).max(200),
  description: z.string().max(100_000).optional(),
  inputSchema: z.looseObject({ type: z.literal('object').optional() }),
  outputSchema: z.record(z.string(), z.unknown()).optional(),
  annotations: z
    .looseObject({ readOnlyHint: z.boolean().optional(), idempotentHint: z.boolean().optional() })
    .optional(),
});
export type McpDefinition = z.infer<typeof definitionSchema>;

export type McpToolList = {
  tools: ReadonlyMap<string, McpDefinition>;
  /** One sentence for each definition that can't be used. */
  warnings: string[];
};

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().nullish() });
const pagesMax = 200;
const toolsMax = 10_000;

/** `isOverHttp`: definitions whose header declarations are wrong can't be used then. */
export async function listTools(client: Client, isOverHttp: boolean, signal: AbortSignal): Promise<McpToolList> {
  const tools = new Map<string, McpDefinition>();
  const warnings: string[] = [];
  const seen = new Set<string>();
  const hasHeaders = isOverHttp && client.getProtocolEra() === 'modern';
  let cursor: string | undefined;
  for (let page = 0; page < pagesMax && tools.size < toolsMax; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, pageSchema, { signal });
    for (const [at, raw] of answer.tools.entries())
      keep(raw, { tools, warnings, hasHeaders, place: `page ${page + 1}, tool ${at + 1}` });
    const next = answer.nextCursor;
    if (next === undefined || next === null) return { tools, warnings };
    // A cursor may be any text, also an empty one; one that comes again would go round for ever.
    if (seen.has(next))
      return { tools, warnings: [...warnings, 'The server repeats a cursor; what came before is listed.'] };
    seen.add(next);
    cursor = next;
  }
  return { tools, warnings: [...warnings, `The server lists more than ${tools.size} tools; the rest is left out.`] };
}

type Keeping = { tools: Map<string, McpDefinition>; warnings: string[]; hasHeaders: boolean; place: string };

function keep(raw: unknown, { tools, warnings, hasHeaders, place }: Keeping): void {
  const parsed = definitionSchema.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    warnings.push(
      `${place}: ${nameOf(raw)} can't be used: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'broken'}.`,
    );
    return;
  }
  const problem = hasHeaders ? headerProblem(parsed.data.inputSchema) : undefined;
  if (problem !== undefined) warnings.push(`${place}: ${parsed.data.name} can't be used: ${problem}.`);
  else if (!tools.has(parsed.data.name)) tools.set(parsed.data.name, parsed.data);
}

function nameOf(raw: unknown): string {
  const isNamed = typeof raw === 'object' && raw !== null && 'name' in raw;
  return isNamed && typeof raw.name === 'string' ? raw.name.slice(0, 100) : 'a tool without a name';
}
