/**
 * An example: a folder examples/<name> with `example.ts` (what to ask, how to prepare its data), `objects/*.yaml`, and a
 * script for the stand-in model. It must not know any particular example.
 */
import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { registryObjectSchema } from '@pawl/contracts';
import type { RegistryObject } from '@pawl/contracts';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { DevstackError } from '../devstack-error.ts';

export const DEFAULT_EXAMPLE = 'sales-analyst';

export interface PrepareOptions {
  databaseUrl: string;
  log?: (line: string) => void;
}

const moduleSchema = z.object({
  app: z.string(),
  agent: z.string(),
  question: z.string(),
  prepare: z.custom<(options: PrepareOptions) => Promise<{ secrets: Record<string, string> }>>(
    (value) => typeof value === 'function',
  ),
});

export interface Example extends z.infer<typeof moduleSchema> {
  name: string;
  objects: RegistryObject[];
  /** Of the stand-in model. */
  simScript: string;
}

/** @throws DevstackError naming the examples there are, or the mistake in this one. */
export async function loadExample(root: string, name: string): Promise<Example> {
  const folder = join(root, 'examples', name);
  const names = listExamples(root);
  if (!names.includes(name)) {
    throw new DevstackError(`There is no example named ${name}. There are: ${names.join(', ')}.`);
  }
  const content = moduleSchema.parse(await import(pathToFileURL(join(folder, 'example.ts')).href));
  const simScript = join(folder, 'model.yaml');
  if (!existsSync(simScript))
    throw new DevstackError(`The example ${name} has no script for the stand-in model: ${simScript}`);
  return { ...content, name, simScript, objects: readObjects(folder) };
}

function listExamples(root: string): string[] {
  return readdirSync(join(root, 'examples'))
    .filter((name) => existsSync(join(root, 'examples', name, 'example.ts')))
    .toSorted();
}

/** Data sources and tools before the agents that name them. */
function readObjects(folder: string): RegistryObject[] {
  const files = globSync('objects/*.yaml', { cwd: folder }).toSorted();
  const order = ['DataSource', 'McpServer', 'ModelRoute', 'Budget', 'Tool', 'Agent'];
  return files
    .flatMap((file) => parseObjects(join(folder, file)))
    .toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

function parseObjects(file: string): RegistryObject[] {
  return parseAllDocuments(readFileSync(file, 'utf8')).map((document) => {
    const parsed = registryObjectSchema.safeParse(document.toJS());
    if (parsed.success) return parsed.data;
    throw new DevstackError(`${file} holds an object that is not valid:\n${z.prettifyError(parsed.error)}`);
  });
}
