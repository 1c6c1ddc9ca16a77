/**
 * What a parameter schema may look like before it is compiled: its dialect, its size, its references.
 * Pure. A schema comes from an app or from a server that an app named, so it is treated as hostile.
 */

export const schemaCharsMax = 128 * 1024;
export const schemaDepthMax = 48;
export const schemaReferencesMax = 500;

export const dialects = ['2020-12', '2019-09', 'draft-07'] as const;
export type Dialect = (typeof dialects)[number];

const dialectOfUri: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['http://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
]);

/** The dialect that `$schema` names (2020-12 without it), or a sentence on why the schema can't be used. */
export function checkSchemaBounds(
  schema: Readonly<Record<string, unknown>>,
): { dialect: Dialect } | { problem: string } {
  const named = schema['$schema'];
  if (named !== undefined && typeof named !== 'string') return { problem: '$schema has to be a text.' };
  const dialect = named === undefined ? '2020-12' : dialectOfUri.get(named.replace(/#$/, ''));
  if (!dialect) return { problem: `The dialect ${named} is not known. Known ones: ${dialects.join(', ')}.` };
  const problem = boundsProblem(schema);
  return problem === undefined ? { dialect } : { problem };
}

function boundsProblem(schema: unknown): string | undefined {
  const pending: { value: unknown; depth: number }[] = [{ value: schema, depth: 1 }];
  let references = 0;
  let chars = 0;
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next;
    if (depth > schemaDepthMax) return `The schema is nested deeper than ${schemaDepthMax} levels.`;
    if (typeof value !== 'object' || value === null) {
      chars += typeof value === 'string' ? value.length + 2 : 4;
    } else {
      for (const [key, child] of Object.entries(value)) {
        chars += key.length + 3;
        if (isReference(key, child)) {
          references += 1;
          if (!child.startsWith('#')) {
            const problem = outsideReference(child, schema);
            if (problem) return problem;
          }
        }
        pending.push({ value: child, depth: depth + 1 });
      }
    }
    if (chars > schemaCharsMax) return `The schema is longer than ${schemaCharsMax} characters.`;
    if (references > schemaReferencesMax) return `The schema has more than ${schemaReferencesMax} references.`;
  }
  return undefined;
}

function isReference(key: string, value: unknown): value is string {
  return (key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') && typeof value === 'string';
}

/** References by absolute URI are good only where they name the schema itself or a meta-schema; nothing is fetched. */
function outsideReference(reference: string, root: unknown): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(reference)) return undefined;
  const [uri = ''] = reference.split('#');
  const rootId = typeof root === 'object' && root !== null && '$id' in root ? root.$id : undefined;
  if (uri === rootId || dialectOfUri.has(uri)) return undefined;
  return `The schema refers to ${reference}; references to other documents are not followed.`;
}
