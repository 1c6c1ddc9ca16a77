/** Names under which the tools of MCP servers are offered to models: safe, stable, and never the same for two tools (C16). Pure. */
import { sha256 } from '@pawl/contracts';

const charsMax = 64;

/** The plain name where nothing is lost by it; else with a hash of the exact pair. */
export function toolNameOf(server: string, tool: string): string {
  const plain = `${server}_${tool}`;
  // A server without `_` ends at the first one, so no other pair has this name.
  const isPlain = /^[A-Za-z0-9_-]+$/.test(tool) && !server.includes('_') && plain.length <= charsMax;
  if (isPlain) return plain;
  const hash = sha256(JSON.stringify([server, tool])).slice(0, 10);
  return `${plain.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, charsMax - hash.length - 1)}_${hash}`;
}
