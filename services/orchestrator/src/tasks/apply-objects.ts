/**
 * Declares the objects that lie in a folder as YAML or JSON files: each goes to the service that looks after its kind, once that
 * service is ready. All are checked before the first is sent; safe to repeat.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import {
  registryObjectSchema,
  registryPaths,
  RejectedError,
  UnavailableError,
  type RegistryKind,
  type RegistryObject,
} from '@pawl/contracts';
import { runTask } from '@pawl/service';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { loadApplyConfig } from '../config.ts';

const retryMs = 1_000;
/** What others name comes first. */
const order: RegistryKind[] = ['DataSource', 'McpServer', 'ModelRoute', 'Budget', 'Tool', 'Agent'];

await runTask(async () => {
  const config = loadApplyConfig();
  const urlOf = {
    Agent: config.PAWL_ORCHESTRATOR_URL,
    Tool: config.PAWL_TOOL_RUNNER_URL,
    DataSource: config.PAWL_TOOL_RUNNER_URL,
    McpServer: config.PAWL_TOOL_RUNNER_URL,
    ModelRoute: config.PAWL_LLM_GATEWAY_URL,
    Budget: config.PAWL_LLM_GATEWAY_URL,
  } satisfies Record<RegistryKind, string>;
  const objects = await readObjects(config.PAWL_OBJECTS_DIR);
  const ready = new Set<string>();
  for (const object of objects) {
    const url = urlOf[object.kind];
    if (!ready.has(url)) await untilReady(url, config.PAWL_APPLY_WAIT_S * 1_000);
    ready.add(url);
    const revision = await put(url, object, config.PAWL_ADMIN_KEY);
    process.stdout.write(`${object.metadata.app}: ${object.kind} ${object.metadata.name}  ${revision.slice(0, 12)}\n`);
  }
});

async function readObjects(folder: string): Promise<RegistryObject[]> {
  const entries = await readdir(folder, { recursive: true });
  // A mounted ConfigMap keeps its files twice, once in a folder that begins with two dots.
  const files = entries.filter((name) => /\.(ya?ml|json)$/.test(name) && !/(^|\/)\.\./.test(name)).toSorted();
  const objects = await Promise.all(
    files.map(async (name) =>
      parseAllDocuments(await readFile(join(folder, name), 'utf8')).flatMap((document, index) => {
        const place = `${name}, document ${index + 1}`;
        const [mistake] = document.errors;
        if (mistake) throw new RejectedError('invalid_request', `${place} is not YAML: ${mistake.message}`);
        const value: unknown = document.toJS();
        if (value === null) return [];
        const parsed = registryObjectSchema.safeParse(value);
        if (parsed.success) return [parsed.data];
        throw new RejectedError('invalid_request', `${place} is not a valid object:\n${z.prettifyError(parsed.error)}`);
      }),
    ),
  );
  return objects.flat().toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

async function untilReady(url: string, waitMs: number): Promise<void> {
  const giveUpAtMs = performance.now() + waitMs;
  for (;;) {
    const isReady = await fetch(`${url}/healthz/ready`).then(
      async (response) => {
        await response.body?.cancel();
        return response.ok;
      },
      () => false,
    );
    if (isReady) return;
    if (performance.now() > giveUpAtMs) throw new UnavailableError(`${url} was not ready within ${waitMs / 1_000} s`);
    process.stdout.write(`waiting for ${url}\n`);
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

async function put(url: string, object: RegistryObject, adminKey: string): Promise<string> {
  const { kind, metadata } = object;
  const response = await fetch(`${url}/v1/${registryPaths[kind]}/${metadata.name}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(object),
  });
  const answer = (await response.json()) as { revision?: string; code?: string; detail?: string };
  if (response.ok && answer.revision !== undefined) return answer.revision;
  const about = `${kind} ${metadata.name} of app ${metadata.app}`;
  throw new RejectedError('invalid_request', `${about} was refused: ${answer.code}: ${answer.detail}`);
}
