-- What runs may spend, as their latest call of their own said: for calls over HTTP that are made for a run.
create table gateway.run_limits (
  run_id text primary key,
  app text not null,
  -- The run and the runs above it, each with its limit: [{"runId", "limitNanoUsd"}].
  runs jsonb not null,
  at timestamptz not null default now()
);
create index run_limits_at on gateway.run_limits (at);
