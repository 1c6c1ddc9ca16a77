/** `POST /v1/tools/import`: declares the operations of an OpenAPI 3.x document as tools of the app. */
import { parse } from 'yaml';
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import { RejectedError, type RegistryObject } from '@pawl/contracts';
import { guardApp, type Authorizer, type Http } from '@pawl/service';
import { importOpenApi, openApiSchema } from '../openapi/import-openapi.ts';

export type ImportRouteOptions = {
  registry: Registry;
  authorizer: Authorizer;
  /** Throws `RejectedError` for a tool that could never work. */
  check: (object: RegistryObject) => void;
};

const textCharsMax = 2_000_000;

/** Aliases are bounded by the library, so that a short text can't become a huge document. */
function parsedText(text: string, context: z.RefinementCtx): unknown {
  try {
    return parse(text);
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : '').split('\n');
    context.addIssue({ code: 'custom', message: `it is neither YAML nor JSON: ${reason}` });
    return z.NEVER;
  }
}

const bodySchema = z.strictObject({
  /** The document, or its text in YAML or JSON. */
  openapi: z.union([z.string().max(textCharsMax).transform(parsedText).pipe(openApiSchema), openApiSchema]),
  /** Put before the names of tools. */
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{0,30}$/)
    .optional(),
  /** In the place of the document's first server. */
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** Names of the tools that are wanted. Absent: all. */
  tools: z.array(z.string()).max(1_000).optional(),
});

export function serveImport(http: Http, { registry, authorizer, check }: ImportRouteOptions): void {
  const onRequest = guardApp(authorizer, 'registry');
  http.post('/v1/tools/import', { onRequest, schema: { body: bodySchema } }, async (request) => {
    const { app } = authorizer.authorizeApp(request, 'registry');
    const { openapi, prefix = '', baseUrl, headers, tools: wanted } = bodySchema.parse(request.body);
    const { tools, warnings } = importOpenApi(openapi, { app, prefix, baseUrl, headers });
    const items: { name: string; revision: string }[] = [];
    for (const tool of tools) {
      const { name } = tool.metadata;
      if (wanted && !wanted.includes(name)) continue;
      try {
        check(tool);
        items.push({ name, revision: (await registry.put(tool)).revision });
      } catch (error) {
        if (!(error instanceof RejectedError)) throw error;
        warnings.push(`${name} is left out: ${error.message}.`);
      }
    }
    return { items, warnings };
  });
}
