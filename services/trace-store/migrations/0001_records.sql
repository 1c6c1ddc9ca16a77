-- Every fact of every run as one row, and what a list shows of a run. Records, runs and contents lie in partitions: by class of
-- retention, then by week of the run's birth (the time in its id: a UUID of version 7, so ids sort by age as bytes). What has
-- outlived its class goes by dropping partitions. The weeks' tables are made by the service, ahead of time.

create table traces.records (
  class         text not null,
  app           text not null,
  run_id        text collate "C" not null,
  slot          text collate "C" not null,
  sequence      bigint not null,
  kind          text not null,
  m             bigint,
  i             bigint,
  step          bigint,
  purpose       text,
  call_id       text,
  tool          text,
  status        text,
  calls         bigint,
  input_tokens  bigint,
  output_tokens bigint,
  cost_nano_usd numeric(40, 0),
  -- What sub-runs that answered the call have used. They have rows of their own: never to be added to the above.
  sub_tokens        bigint,
  sub_cost_nano_usd numeric(40, 0),
  -- Of `started`: turns and steps that a fork took over.
  seeded_turns  bigint,
  seeded_steps  bigint,
  model         text,
  at            timestamptz not null,
  started_at    timestamptz not null,
  duration_ms   double precision not null,
  trace_id      text,
  span_id       text,
  parent_span_id text,
  -- What the body holds that Postgres text can't (as escapes there, replaced in the columns): nul, lone_surrogate.
  marks         text not null default '',
  -- JSON text as it came: jsonb would re-write numbers and refuse escaped NULs. Null where it is in `contents`.
  body          text,
  -- SHA-256s (hex, by comma) of the contents that make up the body, in order.
  parts         text,
  body_bytes    bigint not null,
  stored_at     timestamptz not null default now(),
  primary key (class, app, run_id, slot)
) partition by list (class);

-- Texts by their hash, each stored once in a run: a conversation that is told again at every step takes no more room.
-- Not shared between runs, so that what belongs to one user or one week can go without asking who else needs it.
create table traces.contents (
  class  text not null,
  app    text not null,
  run_id text collate "C" not null,
  sha256 text collate "C" not null,
  text   text not null,
  primary key (class, app, run_id, sha256)
) partition by list (class);

-- What a list shows of a run. The `ended_` columns hold the totals of the fact `ended`, the `counted_` columns what the
-- records sum up to, the `sub_` columns what sub-runs used; shown are the first once they are there.
create table traces.runs (
  class                 text not null,
  app                   text not null,
  run_id                text collate "C" not null,
  -- pawl: from the run log. otlp: from spans of another agent.
  source                text not null default 'pawl',
  status                text not null,
  stop_reason           text,
  start_rank            text,
  agent                 text,
  revision              text,
  question              text,
  user_id               text,
  session               text,
  parent_run_id         text,
  parent_m              bigint,
  parent_i              bigint,
  fork_run_id           text,
  fork_step             bigint,
  started_at            timestamptz,
  end_rank              text,
  ended_at              timestamptz,
  ended_reason          text,
  answer                text,
  partial               boolean,
  detail                text,
  ended_steps           bigint,
  ended_tool_calls      bigint,
  ended_tokens          bigint,
  ended_cost_nano_usd   numeric(40, 0),
  pause_turn            bigint,
  pause_reason          text,
  pause_answer          text,
  pause_partial         boolean,
  pause_detail          text,
  -- The latest turn: calls that wait for a person, and calls that were answered.
  turn_m                bigint,
  turn_awaiting         text,
  turn_answered         text,
  -- The longest that the run may be silent without being lost.
  wall_clock_ms         bigint,
  tools                 text not null default '',
  trace_id              text,
  first_at              timestamptz not null,
  last_at               timestamptz not null,
  records               bigint not null,
  counted_steps         bigint not null,
  counted_tool_calls    bigint not null,
  counted_tokens        bigint not null,
  counted_cost_nano_usd numeric(40, 0) not null,
  sub_tokens            bigint not null default 0,
  sub_cost_nano_usd     numeric(40, 0) not null default 0,
  -- When the run's subjects were purged from the log.
  archived_at           timestamptz,
  steps                 bigint generated always as (coalesce(ended_steps, counted_steps)) stored,
  tool_calls            bigint generated always as (coalesce(ended_tool_calls, counted_tool_calls)) stored,
  tokens                bigint generated always as (coalesce(ended_tokens, counted_tokens + sub_tokens)) stored,
  cost_nano_usd         numeric(40, 0)
    generated always as (coalesce(ended_cost_nano_usd, counted_cost_nano_usd + sub_cost_nano_usd)) stored,
  listed_at             timestamptz generated always as (coalesce(started_at, first_at)) stored,
  primary key (class, app, run_id)
) partition by list (class);

-- lz4 reads back several times faster than the built-in method; where the server was built without it, that one stays.
do $$
begin
  alter table traces.records alter column body set compression lz4;
  alter table traces.contents alter column text set compression lz4;
exception when feature_not_supported then
  raise notice 'this Postgres has no lz4';
end
$$;

create index runs_by_time on traces.runs (app, listed_at desc, run_id desc);
create index runs_by_agent on traces.runs (app, agent, listed_at desc, run_id desc);
create index runs_by_status on traces.runs (app, status, listed_at desc, run_id desc);
create index runs_by_stop_reason on traces.runs (app, stop_reason, listed_at desc, run_id desc);
create index runs_by_user on traces.runs (app, user_id, listed_at desc, run_id desc) where user_id is not null;
create index runs_by_session on traces.runs (app, session, listed_at desc, run_id desc) where session is not null;
create index runs_by_parent on traces.runs (app, parent_run_id) where parent_run_id is not null;
create index runs_by_fork on traces.runs (app, fork_run_id) where fork_run_id is not null;
create index runs_to_archive on traces.runs (ended_at) where ended_at is not null and archived_at is null;
create index records_by_tool on traces.records (app, tool, at) where tool is not null;

-- The class of what is under legal hold when its week is dropped; never parted by time, never dropped.
create table traces.records_held partition of traces.records for values in ('held');
create table traces.contents_held partition of traces.contents for values in ('held');
create table traces.runs_held partition of traces.runs for values in ('held');

-- Messages of the run log that could not be kept: where they were and why, never what they said.
create table traces.rejected (
  subject   text collate "C" not null,
  sha256    text collate "C" not null,
  sequence  bigint not null,
  app       text,
  run_id    text collate "C",
  slot      text,
  reason    text not null,
  size      bigint not null,
  seen_at   timestamptz not null default now(),
  primary key (subject, sha256)
);

create index rejected_by_run on traces.rejected (app, run_id);
