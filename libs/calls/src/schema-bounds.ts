/**
 * What a parameter schema may look like before it is compiled: its dialect, its size, its references.
 * Pure. A schema comes from an app or from a server that an app named, so it is treated as hostile.
 */

export const schemaCharsMax = 128 * 1024;
export const schemaDepthMax = 48;
export const schemaReferencesMax = 500;
/** Without references and up to this length, checking small arguments is short by construction. */
const tameCharsMax = 16_384;

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

/** The dialect that `$schema` names (2020-12 without it) and whether the schema is tame, or a sentence on why it can't be used. */
export function checkSchemaBounds(
  schema: Readonly<Record<string, unknown>>,
): { dialect: Dialect; isTame: boolean } | { problem: string } {
  const named = schema['$schema'];
  if (named !== undefined && typeof named !== 'string') return { problem: '$schema has to be a text.' };
  const dialect = named === undefined ? '2020-12' : dialectOfUri.get(named.replace(/#$/, ''));
  if (!dialect) return { problem: `The dialect ${named} is not known. Known ones: ${dialects.join(', ')}.` };
  const measured = measureSchema(schema);
  const problem = boundsProblem(schema, measured);
  const isTame = measured.references.length === 0 && measured.chars <= tameCharsMax;
  return problem === undefined ? { dialect, isTame } : { problem };
}

type Measured = { chars: number; references: string[]; depth: number };

function measureSchema(schema: Readonly<Record<string, unknown>>): Measured {
  const measured: Measured = { chars: 0, references: [], depth: 0 };
  const pending: { value: unknown; depth: number }[] = [{ value: schema, depth: 1 }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, depth } = next;
    measured.depth = Math.max(measured.depth, depth);
    if (depth > schemaDepthMax || measured.chars > schemaCharsMax) return measured;
    for (const child of measure(value, measured)) pending.push({ value: child, depth: depth + 1 });
  }
  return measured;
}

function boundsProblem(schema: Readonly<Record<string, unknown>>, measured: Measured): string | undefined {
  if (measured.depth > schemaDepthMax) return `The schema is nested deeper than ${schemaDepthMax} levels.`;
  if (measured.chars > schemaCharsMax) return `The schema is longer than ${schemaCharsMax} characters.`;
  if (measured.references.length > schemaReferencesMax)
    return `The schema has more than ${schemaReferencesMax} references.`;
  return measured.references
    .map((reference) => outsideReference(reference, schema['$id']))
    .find((problem) => problem !== undefined);
}

/** Adds what a value takes, and gives the values in it. */
function measure(value: unknown, measured: Measured): unknown[] {
  if (typeof value !== 'object' || value === null) {
    measured.chars += typeof value === 'string' ? value.length + 2 : 4;
    return [];
  }
  for (const [key, child] of Object.entries(value)) {
    measured.chars += key.length + 3;
    if (isReference(key, child)) measured.references.push(child);
  }
  return Object.values(value);
}

function isReference(key: string, value: unknown): value is string {
  return (key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') && typeof value === 'string';
}

/** References by absolute URI are good only where they name the schema itself or a meta-schema; nothing is fetched. */
function outsideReference(reference: string, rootId: unknown): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(reference)) return undefined;
  const [uri = ''] = reference.split('#');
  if (uri === rootId || dialectOfUri.has(uri)) return undefined;
  return `The schema refers to ${reference}; references to other documents are not followed.`;
}
