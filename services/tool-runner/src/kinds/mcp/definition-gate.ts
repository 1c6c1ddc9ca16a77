/**
 * Whether a tool of an MCP server is still what the app accepted. The first definition that is seen counts as accepted; a changed
 * one is in quarantine until somebody accepts it, so that a server can't turn a harmless tool into another one (C13).
 */
import type { Queryable } from '@pawl/db';

export type DefinitionOf = { app: string; server: string; tool: string; hash: string };

export type DefinitionGate = {
  /** Whether the definition may be used. Throws `UnavailableError`. */
  isAccepted(definition: DefinitionOf): Promise<boolean>;
  accept(definition: DefinitionOf): Promise<void>;
  /** Accepted hashes of a server's tools, by tool. */
  acceptedOf(app: string, server: string): Promise<ReadonlyMap<string, string>>;
};

export function createDefinitionGate(database: Queryable): DefinitionGate {
  // What was accepted once stays accepted as long as it is the same.
  const known = new Map<string, string>();
  const knownMax = 20_000;
  const remember = ({ app, server, tool }: DefinitionOf, hash: string) => {
    if (known.size >= knownMax) known.clear();
    known.set(JSON.stringify([app, server, tool]), hash);
  };
  return {
    async isAccepted(definition) {
      const { app, server, tool, hash } = definition;
      if (known.get(JSON.stringify([app, server, tool])) === hash) return true;
      const [row] = await database.query<{ accepted_hash: string }>(
        `with first_seen as (
           insert into tools.mcp_definitions (app, server, tool, accepted_hash) values ($1, $2, $3, $4)
           on conflict do nothing returning accepted_hash
         )
         select accepted_hash from first_seen
         union all
         select accepted_hash from tools.mcp_definitions where app = $1 and server = $2 and tool = $3`,
        [app, server, tool, hash],
      );
      if (row) remember(definition, row.accepted_hash);
      return row?.accepted_hash === hash;
    },
    async accept(definition) {
      const { app, server, tool, hash } = definition;
      await database.query(
        `insert into tools.mcp_definitions (app, server, tool, accepted_hash) values ($1, $2, $3, $4)
         on conflict (app, server, tool) do update set accepted_hash = excluded.accepted_hash, accepted_at = now()`,
        [app, server, tool, hash],
      );
      remember(definition, hash);
    },
    async acceptedOf(app, server) {
      const rows = await database.query<{ tool: string; accepted_hash: string }>(
        'select tool, accepted_hash from tools.mcp_definitions where app = $1 and server = $2',
        [app, server],
      );
      return new Map(rows.map((row) => [row.tool, row.accepted_hash]));
    },
  };
}
