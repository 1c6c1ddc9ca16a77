-- Settings of apps, reads of what people said, and traces of other agents.

-- What an app wants of its traces, beside its class: rules of redaction (JSON), and where its traces can be seen elsewhere.
create table traces.app_settings (
  app        text primary key,
  redaction  text not null default '{}',
  trace_url  text,
  updated_by text not null,
  updated_at timestamptz not null default now()
);

-- Who read what, a line for each minute, key and thing.
create table traces.reads (
  app    text not null,
  minute timestamptz not null,
  key_id text not null,
  action text not null,
  run_id text collate "C" not null default '',
  detail text not null default '',
  count  bigint not null default 1,
  primary key (app, minute, key_id, action, run_id, detail)
);

-- Traces of other agents, as runs: which run a trace became when its first span came.
create table traces.foreign_runs (
  app      text not null,
  trace_id text collate "C" not null,
  run_id   text collate "C" not null,
  seen_at  timestamptz not null default now(),
  primary key (app, trace_id)
);
create index foreign_runs_by_age on traces.foreign_runs (seen_at);
