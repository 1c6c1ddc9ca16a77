-- Definitions of tools as MCP servers gave them: which one an app has accepted, and which one was seen last.
-- A tool whose definition is another one than the accepted one is not called.
create table tools.mcp_definitions (
  app text not null,
  server text not null,
  tool text not null,
  -- SHA-256 of the canonical definition.
  accepted_hash text not null check (accepted_hash ~ '^[0-9a-f]{64}$'),
  accepted_at timestamptz not null default now(),
  primary key (app, server, tool)
);
