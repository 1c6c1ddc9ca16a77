/**
 * Reads script files. The only place of the stand-in that touches the file system.
 */
import { readFile } from 'node:fs/promises';
import { ScriptError, type ScriptModel, parseScript } from './script.ts';

/** Models of one script file by name. Rejects with ScriptError when it can't be read or is not valid. */
export async function loadScript(path: string): Promise<Map<string, ScriptModel>> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new ScriptError(`${path} can't be read: ${(error as Error).message}`, { cause: error });
  }
  return parseScript(text, path);
}

/** Models of several script files. Rejects with ScriptError when two declare the same model. */
export async function loadScripts(paths: readonly string[]): Promise<Map<string, ScriptModel>> {
  const models = new Map<string, ScriptModel>();
  for (const path of paths) {
    for (const [name, model] of await loadScript(path)) {
      if (models.has(name)) throw new ScriptError(`${path}: model ${name} is already declared by another script`);
      models.set(name, model);
    }
  }
  return models;
}
