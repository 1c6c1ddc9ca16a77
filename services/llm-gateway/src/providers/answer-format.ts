/** The schema of an answer in the form that endpoints of OpenAI's protocol take. Pure. */

type JsonSchema = Record<string, unknown>;

/** The schema to send with a request: none beside tools, since some endpoints then never call them. */
export function answerSchemaOf(work: {
  tools: readonly unknown[];
  answerSchema?: JsonSchema | undefined;
}): JsonSchema | undefined {
  return work.tools.length === 0 ? work.answerSchema : undefined;
}

/** The `response_format` of a schema. Strict only where the schema fits OpenAI's strict subset, which refuses all others. */
export function answerFormatOf(schema: object): {
  type: 'json_schema';
  json_schema: { name: string; schema: JsonSchema; strict: boolean };
} {
  const strict = isStrict(schema, 0) && (schema as JsonSchema)['type'] === 'object';
  return { type: 'json_schema', json_schema: { name: 'answer', schema: schema as JsonSchema, strict } };
}

const nestingMax = 5;
/** Everything else may be refused, or mean something else there. */
const strictKeywords = new Set(
  'type properties required additionalProperties items enum const anyOf title description $schema'.split(' '),
);

function isStrict(schema: unknown, depth: number): boolean {
  if (!isObject(schema) || depth > nestingMax) return false;
  if (Object.keys(schema).some((keyword) => !strictKeywords.has(keyword))) return false;
  const { properties, required, items, anyOf } = schema;
  if (Array.isArray(anyOf) && !anyOf.every((branch) => isStrict(branch, depth + 1))) return false;
  if (items !== undefined && !isStrict(items, depth + 1)) return false;
  if (schema['type'] !== 'object' && properties === undefined) return true;
  if (!isObject(properties) || schema['additionalProperties'] !== false || !Array.isArray(required)) return false;
  return Object.entries(properties).every(([name, part]) => required.includes(name) && isStrict(part, depth + 1));
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
