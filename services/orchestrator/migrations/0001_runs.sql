-- Runs that were accepted: written before their first fact, so that no accepted run can be lost with the log (I3).
create table runs.runs (
  id text primary key,
  app text not null,
  agent text not null,
  -- One run per app and key; the hash tells a repeated request from another one under the same key.
  idempotency_key text,
  request_hash text not null,
  -- The fact `started`, as JSON text, so that it can be published again.
  started text not null,
  -- The fact `cancel`, once somebody asked for it.
  cancel text,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  -- The run as clients see it, once it has ended.
  view text
);

create unique index runs_idempotency on runs.runs (app, idempotency_key) where idempotency_key is not null;
create index runs_by_time on runs.runs (app, created_at desc, id desc);
create index runs_open on runs.runs (created_at) where ended_at is null;
