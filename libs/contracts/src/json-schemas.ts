/**
 * The contracts as JSON Schemas (2020-12), for readers that are not written in TypeScript. Pure: `generate.ts` writes them.
 * They describe what a sender may write: requests and declared objects refuse unknown fields, messages tolerate them.
 * Rules that JSON Schema can't say (that a tool has exactly one kind, the longest duration) are checked by zod alone.
 */
import { z } from 'zod';
import { problemSchema } from './errors.ts';
import { factSchema } from './facts.ts';
import { cancelRunSchema, createKeySchema, createRunSchema, keyRecordSchema, runViewSchema } from './http-api.ts';
import { observationSchema } from './observation.ts';
import { definitionSchema, registryObjectSchema, revisionedSchema } from './registry-object.ts';
import { stopReasonSchema } from './stop-reasons.ts';
import { deltaSchema, workSchema } from './work.ts';

const VERSION = 'v1';

/** File name → the JSON text of a schema, with its `$id`; the same on every call. */
export function jsonSchemas(): Map<string, string> {
  return new Map(
    contracts()
      .map(([name, schema]) => [`${name}.${VERSION}.json`, render(name, schema)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}

function contracts(): Array<readonly [name: string, schema: z.ZodType]> {
  return [
    ...factSchema.options.map((schema) => [`fact-${schema.shape.kind.value}`, schema] as const),
    ...workSchema.options.map((schema) => [`work-${schema.shape.kind.value}`, schema] as const),
    ...registryObjectSchema.options.map((schema) => [kebab(schema.shape.kind.value), schema] as const),
    ['cancel-run', cancelRunSchema],
    ['create-key', createKeySchema],
    ['create-run', createRunSchema],
    ['definition', definitionSchema],
    ['delta', deltaSchema],
    ['key-record', keyRecordSchema],
    ['observation', observationSchema],
    ['problem', problemSchema],
    ['revisioned', revisionedSchema],
    ['run-view', runViewSchema],
    ['stop-reason', stopReasonSchema],
  ];
}

function render(name: string, schema: z.ZodType): string {
  const { $schema, ...body } = z.toJSONSchema(schema, { io: 'input', target: 'draft-2020-12' });
  const document = { $schema, $id: `https://pawl.dev/schemas/${name}.${VERSION}.json`, title: name, ...body };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function kebab(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}
