-- Runs that were accepted: written before their first fact, so that no accepted run can be lost with the log (I3).
create table runs.runs (
  id text primary key,
  app text not null,
  agent text not null,
  user_id text,
  session text,
  -- One run per app and key; the hash tells a repeated request from another one under the same key.
  idempotency_key text,
  request_hash text not null,
  -- The fact `started`, as JSON text, so that it can be published again.
  started text not null,
  created_at timestamptz not null default now(),
  -- open: under way. paused: stands still until it is resumed. ended: for good.
  status text not null default 'open' check (status in ('open', 'paused', 'ended')),
  stopped_at timestamptz,
  -- The run as clients see it, once it has paused or ended.
  view text
);

create unique index runs_idempotency on runs.runs (app, idempotency_key) where idempotency_key is not null;
create index runs_by_time on runs.runs (app, created_at desc, id desc);
create index runs_open on runs.runs (created_at) where status = 'open';
create index runs_of_session on runs.runs (app, session, created_at desc) where session is not null;

-- What people said to a run: cancel, approvals, signals, resumptions. Written before it is published (I3);
-- a slot holds one word, and the first one counts.
create table runs.words (
  run_id text not null references runs.runs (id),
  slot text not null,
  -- The fact, as JSON text.
  fact text not null,
  said_at timestamptz not null default now(),
  primary key (run_id, slot)
);
