-- Effects of writing tools: claimed before execution, stored with their result before it is told (I3, I10).
create table tools.effects (
  key text primary key check (key ~ '^[0-9a-f]{64}$'),
  app text not null,
  run_id text not null,
  m integer not null,
  i integer not null,
  tool text not null,
  state text not null default 'claimed' check (state in ('claimed', 'done')),
  -- Which process claimed it last.
  owner text not null,
  claimed_at timestamptz not null default now(),
  finished_at timestamptz,
  -- JSON text of the report that was, or will be, published.
  result text,
  -- A report that came after another one had been stored.
  late_result text,
  check ((state = 'done') = (result is not null))
);

create index effects_by_run on tools.effects (app, run_id);
