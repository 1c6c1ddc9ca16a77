/**
 * Which tools of MCP servers are others than they were: told by the tool-runner when an app accepts a changed definition, heard by
 * whoever keeps calls that were decided on before. In the bucket of settings, so that nobody reads another's tables.
 */
import { buckets, sha256 } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { watchBucket } from './watched-bucket.ts';

/** A tool as a server of an app offers it. */
export type ServerTool = { app: string; server: string; tool: string };

export type ToolChanges = {
  /** When the app accepted a definition in the place of an earlier one, as Unix time in ms; undefined while the first one stands. */
  changedAtMs(of: ServerTool): number | undefined;
  /** Calls back after each change. */
  onChange(listener: () => void): void;
  close(): void;
};

const prefix = 'tools_changed.';

/** Reads all changes and keeps them up to date. */
export async function connectToolChanges(bus: Bus): Promise<ToolChanges> {
  const watched = await watchBucket(bus, { bucket: bus.settings, name: buckets.settings, parse: parseTime });
  return {
    changedAtMs: (of) => watched.entries().get(keyOf(of)),
    onChange(listener) {
      watched.onChange((key) => {
        if (key.startsWith(prefix)) listener();
      });
    },
    close: () => watched.close(),
  };
}

/** Tells that a tool is another one since then. Safe to repeat: what is told already is not told again. Throws `UnavailableError`. */
export async function tellToolChange(bus: Bus, of: ServerTool, changedAtMs: number): Promise<void> {
  const told = await orUnavailable(bus.settings.get(keyOf(of)));
  if ((parseTime(told?.string() ?? '') ?? 0) < changedAtMs) {
    await orUnavailable(bus.settings.put(keyOf(of), new Date(changedAtMs).toISOString()));
  }
}

/** Servers give tools any name, so it goes by its hash. */
function keyOf({ app, server, tool }: ServerTool): string {
  return `${prefix}${app}.${sha256(JSON.stringify([server, tool]))}`;
}

function parseTime(text: string): number | undefined {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : atMs;
}
