/**
 * Whether a tool of an MCP server is still what the app accepted. The first definition that is seen counts as accepted; a changed
 * one is in quarantine until somebody accepts it, so that a server can't turn a harmless tool into another one (C13).
 */
import type { ServerTool } from '@pawl/bus';
import type { Queryable } from '@pawl/db';

export type DefinitionOf = ServerTool & { hash: string };

/** Tells others that a tool is another one since then, so that nobody is asked about what it was before. */
export type TellChange = (of: ServerTool, changedAtMs: number) => Promise<void>;

export type Acceptance = { isAccepted: boolean; changedAtMs: number | undefined };

export type DefinitionGate = {
  /** Whether the definition may be used, and since when it stands in the place of another. Throws `UnavailableError`. */
  acceptance(definition: DefinitionOf): Promise<Acceptance>;
  accept(definition: DefinitionOf): Promise<void>;
  /** Accepted hashes of a server's tools, by tool. */
  acceptedOf(app: string, server: string): Promise<ReadonlyMap<string, string>>;
};

type GateOptions = { database: Queryable; tellChange: TellChange };

type Row = { accepted_hash: string; changed_at: string | null };

export function createDefinitionGate({ database, tellChange }: GateOptions): DefinitionGate {
  // What was accepted once stays accepted as long as it is the same.
  const known = new Map<string, { hash: string; changedAtMs: number | undefined }>();
  const knownMax = 20_000;
  const keyOf = ({ app, server, tool }: DefinitionOf) => JSON.stringify([app, server, tool]);
  const remember = (definition: DefinitionOf, { accepted_hash: hash, changed_at: changedAt }: Row) => {
    if (known.size >= knownMax) known.clear();
    const accepted = { hash, changedAtMs: changedAt === null ? undefined : Date.parse(changedAt) };
    known.set(keyOf(definition), accepted);
    return accepted;
  };
  return {
    async acceptance(definition) {
      const { app, server, tool, hash } = definition;
      const remembered = known.get(keyOf(definition));
      if (remembered?.hash === hash) return { isAccepted: true, changedAtMs: remembered.changedAtMs };
      const [row] = await database.query<Row>(
        `with first_seen as (
           insert into tools.mcp_definitions (app, server, tool, accepted_hash) values ($1, $2, $3, $4)
           on conflict do nothing returning accepted_hash, changed_at
         )
         select accepted_hash, changed_at::text from first_seen
         union all
         select accepted_hash, changed_at::text from tools.mcp_definitions where app = $1 and server = $2 and tool = $3`,
        [app, server, tool, hash],
      );
      const accepted = row && remember(definition, row);
      // Whoever accepted it may have died before it was told.
      if (accepted?.changedAtMs !== undefined) tellChange(definition, accepted.changedAtMs).catch(() => undefined);
      return { isAccepted: accepted?.hash === hash, changedAtMs: accepted?.changedAtMs };
    },
    async accept(definition) {
      const { app, server, tool, hash } = definition;
      const [row] = await database.query<Row>(
        `insert into tools.mcp_definitions as known (app, server, tool, accepted_hash) values ($1, $2, $3, $4)
         on conflict (app, server, tool) do update set
           changed_at = case when known.accepted_hash = excluded.accepted_hash then known.changed_at else clock_timestamp() end,
           accepted_hash = excluded.accepted_hash,
           accepted_at = now()
         returning accepted_hash, changed_at::text`,
        [app, server, tool, hash],
      );
      const accepted = row && remember(definition, row);
      if (accepted?.changedAtMs !== undefined) await tellChange(definition, accepted.changedAtMs);
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
