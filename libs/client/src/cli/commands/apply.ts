/** `pawl apply`: declares what is in YAML or JSON files; several objects in one file are parted by `---`. */
import { readFileSync } from 'node:fs';
import { registryObjectSchema, type RegistryObject } from '@pawl/contracts';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { CommandError } from '../command-error.ts';
import type { CommandLine, Using } from '../context.ts';

/** What others name comes first. */
const order: RegistryObject['kind'][] = ['DataSource', 'McpServer', 'ModelRoute', 'Budget', 'Tool', 'Agent'];

export function addApplyCommand({ program, open }: CommandLine): void {
  program
    .command('apply')
    .description('declare the objects of YAML or JSON files: agents, tools, routes, budgets, data sources')
    .requiredOption(
      '-f, --file <file...>',
      'files, or - for standard input; several objects in a file are parted by ---',
    )
    .action(async ({ file }: { file: string[] }) => await applyFiles(open(), file));
}

/** Checks all files before it sends anything, so that a mistake leaves nothing half applied. */
async function applyFiles(using: Using, files: string[]): Promise<void> {
  const objects = files.flatMap(readObjects).toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
  if (objects.length === 0) throw new CommandError(`there is no object in ${files.join(', ')}.`);
  for (const object of objects) {
    const stored = await using.client.putObject(object);
    using.output.line(stored, () => `${object.kind} ${object.metadata.name}  ${stored.revision.slice(0, 12)}`);
  }
}

function readObjects(file: string): RegistryObject[] {
  return parseAllDocuments(readFile(file)).flatMap((document, index) => {
    const place = `${file}, document ${index + 1}`;
    const [mistake] = document.errors;
    if (mistake) throw new CommandError(`${place} is not YAML: ${mistake.message}`);
    const value: unknown = document.toJS();
    if (value === null) return [];
    const parsed = registryObjectSchema.safeParse(value);
    if (parsed.success) return [parsed.data];
    throw new CommandError(`${place} is not a valid object:\n${z.prettifyError(parsed.error)}`);
  });
}

function readFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
