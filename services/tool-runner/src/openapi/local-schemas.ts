/**
 * JSON Schemas of an OpenAPI 3.x document as they stand on their own: references into the document become `$defs`, and what 3.0 says
 * in its own words is said as JSON Schema says it. Pure; references to other documents are left out with a sentence.
 */

type Schema = Record<string, unknown>;
export type Components = ReadonlyMap<string, unknown>;

const depthMax = 64;
const prefix = '#/components/schemas/';

/** The schema with all that it refers to. Throws `OpenApiError` for references that can't be followed. */
export function standAlone(schema: unknown, components: Components): Schema {
  const needed = new Map<string, unknown>();
  const own = convert(schema, (name) => need(name, components, needed), 0) as Schema;
  return needed.size === 0 ? own : { ...own, $defs: Object.fromEntries(needed) };
}

export class OpenApiError extends Error {
  override readonly name = 'OpenApiError';
}

function need(name: string, components: Components, needed: Map<string, unknown>): void {
  if (needed.has(name)) return;
  const found = components.get(name);
  if (found === undefined) throw new OpenApiError(`there is no schema ${name}`);
  // Before its content, which may refer to itself.
  needed.set(name, {});
  needed.set(
    name,
    convert(found, (other) => need(other, components, needed), 0),
  );
}

function convert(node: unknown, onReference: (name: string) => void, depth: number): unknown {
  if (depth > depthMax) throw new OpenApiError('a schema is nested too deeply');
  if (Array.isArray(node)) return node.map((item) => convert(item, onReference, depth + 1));
  if (typeof node !== 'object' || node === null) return node;
  const schema = node as Schema;
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    if (!reference.startsWith(prefix))
      throw new OpenApiError(`the reference ${reference.slice(0, 200)} leads elsewhere`);
    const name = reference.slice(prefix.length);
    onReference(name);
    return { $ref: `#/$defs/${name}` };
  }
  const converted = Object.fromEntries(
    Object.entries(withoutOwnWords(schema)).map(([key, child]) => [key, convert(child, onReference, depth + 1)]),
  );
  return schema['nullable'] === true ? nullable(converted) : converted;
}

/** Keywords of OpenAPI that are none of JSON Schema. */
const ownWords = new Set(['nullable', 'discriminator', 'xml', 'externalDocs', 'example']);

function withoutOwnWords(schema: Schema): Schema {
  const kept = Object.fromEntries(
    Object.entries(schema).filter(([key, value]) => !ownWords.has(key) || typeof value === 'object'),
  );
  // In 3.0 these say whether the bound itself is left out.
  const { exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest } = kept;
  return {
    ...rest,
    ...boundOf('inimum', minimum, exclusiveMinimum),
    ...boundOf('aximum', maximum, exclusiveMaximum),
  };
}

function boundOf(word: 'inimum' | 'aximum', bound: unknown, exclusive: unknown): Schema {
  if (exclusive === true) return { [`exclusiveM${word}`]: bound };
  return {
    ...(bound === undefined ? {} : { [`m${word}`]: bound }),
    ...(typeof exclusive === 'number' ? { [`exclusiveM${word}`]: exclusive } : {}),
  };
}

function nullable(schema: Schema): Schema {
  const { type } = schema;
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const { enum: values } = schema;
  return {
    ...schema,
    type: [type, 'null'],
    ...(Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {}),
  };
}
