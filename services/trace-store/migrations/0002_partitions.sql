-- Records, runs and contents in partitions: by class of retention, then by week of the run's birth (the time in its id).
-- What has outlived its class goes by dropping partitions. The weeks' tables are made by the service, ahead of time.

alter table traces.records rename to records_before;
alter table traces.runs rename to runs_before;
alter table traces.records_before rename constraint records_pkey to records_before_pkey;
alter table traces.runs_before rename constraint runs_pkey to runs_before_pkey;
drop index traces.runs_by_time, traces.runs_by_agent, traces.runs_by_status, traces.runs_by_stop_reason;

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

-- Tables of a class and of a week in it, for each of the three parents. Bounds are run ids; the caller holds the lock.
create function traces.make_class(class text) returns void language plpgsql as $$
declare parent text;
begin
  foreach parent in array array['runs', 'records', 'contents'] loop
    if to_regclass(format('traces.%I', parent || '_' || class)) is null then
      execute format('create table traces.%I partition of traces.%I for values in (%L) partition by range (run_id)',
                     parent || '_' || class, parent, class);
    end if;
  end loop;
end
$$;

-- Attaching a finished table takes no lock that would stop readers or writers of its siblings.
create function traces.make_week(class text, week text, lower_id text, upper_id text) returns void language plpgsql as $$
declare parent text; leaf text;
begin
  foreach parent in array array['runs', 'records', 'contents'] loop
    leaf := parent || '_' || class || '_' || week;
    if to_regclass(format('traces.%I', leaf)) is null then
      execute format('create table traces.%I (like traces.%I including all)', leaf, parent || '_' || class);
      execute format('alter table traces.%I attach partition traces.%I for values from (%L) to (%L)',
                     parent || '_' || class, leaf, lower_id, upper_id);
    end if;
  end loop;
end
$$;

-- The weeks of the runs that are there already; week 1 began on 1 January 1970.
do $$
declare week bigint;
begin
  perform traces.make_class('standard');
  for week in
    select distinct ('x' || lpad(substr(run_id, 5, 12), 16, '0'))::bit(64)::bigint / 604800000
    from (select run_id from traces.runs_before union select run_id from traces.records_before) as known
    where run_id ~ '^run_[0-9a-f]{32}$'
  loop
    perform traces.make_week('standard', 'w' || week, 'run_' || lpad(to_hex(week * 604800000), 12, '0'),
                             'run_' || lpad(to_hex((week + 1) * 604800000), 12, '0'));
  end loop;
end
$$;

insert into traces.records (class, app, run_id, slot, sequence, kind, m, i, step, purpose, call_id, tool, status, calls,
    input_tokens, output_tokens, cost_nano_usd, at, started_at, duration_ms, trace_id, span_id, marks, body, body_bytes, stored_at)
  select 'standard', app, run_id, slot, sequence, kind, m, i, step, purpose, call_id, tool, status, calls,
    input_tokens, output_tokens, cost_nano_usd, at, started_at, duration_ms, trace_id, span_id, marks, body,
    octet_length(body), stored_at
  from traces.records_before where run_id ~ '^run_[0-9a-f]{32}$';
insert into traces.runs (class, app, run_id, status, stop_reason, start_rank, agent, revision, question, user_id, session,
    started_at, end_rank, ended_at, ended_reason, answer, partial, detail, ended_steps, ended_tool_calls, ended_tokens,
    ended_cost_nano_usd, pause_turn, pause_reason, trace_id, first_at, last_at, records, counted_steps, counted_tool_calls,
    counted_tokens, counted_cost_nano_usd)
  select 'standard', app, run_id, status, stop_reason, case when started_at is not null then '' end, agent, revision,
    question, user_id, session, started_at, case when ended_at is not null then '' end, ended_at, ended_reason, answer,
    partial, detail, ended_steps, ended_tool_calls, ended_tokens, ended_cost_nano_usd, pause_turn, pause_reason, trace_id,
    first_at, last_at, records, counted_steps, counted_tool_calls, counted_tokens, counted_cost_nano_usd
  from traces.runs_before where run_id ~ '^run_[0-9a-f]{32}$';
drop table traces.records_before;
drop table traces.runs_before;

-- What each app wants of its traces. The class counts for runs born from `since` on, so a run's class follows from its id.
create table traces.app_classes (
  app   text not null,
  since timestamptz not null,
  class text not null,
  primary key (app, since)
);

-- Runs that must not be dropped or erased: one run, or all of a user, or all of an app.
create table traces.holds (
  id      text primary key,
  app     text not null,
  run_id  text collate "C",
  user_id text,
  reason  text not null,
  by      text not null,
  at      timestamptz not null default now()
);

-- Erasures of users: whom (as a hash), how far, and what proves it. Never the user's name.
create table traces.erasures (
  id           text primary key,
  app          text not null,
  user_sha256  text not null,
  -- The user's id while the job runs; taken out when it is done.
  user_id      text,
  requested_by text not null,
  requested_at timestamptz not null default now(),
  finished_at  timestamptz,
  runs_erased  bigint not null default 0,
  records_erased bigint not null default 0,
  runs_held    bigint not null default 0,
  runs_active  bigint not null default 0,
  -- SHA-256 over the sorted ids of the erased runs, one a line, and what was found of them afterwards.
  proof        text
);

-- Runs that were erased: nothing of them is stored again, however often the log is read.
create table traces.erased_runs (
  app        text not null,
  run_id     text collate "C" not null,
  erasure_id text not null references traces.erasures (id),
  erased_at  timestamptz not null default now(),
  primary key (app, run_id)
);
