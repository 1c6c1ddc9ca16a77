-- Traces of other agents, as runs: which run a trace became when its first span came.
create table traces.foreign_runs (
  app      text not null,
  trace_id text collate "C" not null,
  run_id   text collate "C" not null,
  seen_at  timestamptz not null default now(),
  primary key (app, trace_id)
);
create index foreign_runs_by_age on traces.foreign_runs (seen_at);
