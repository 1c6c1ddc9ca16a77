-- Every fact of every run as one row. Its key is its write-once address, so a repeated delivery changes nothing.
-- Run ids begin with their time (UUID version 7): compared as bytes they sort by age, and both tables can be parted by
-- ranges of run ids without changing a key.
create table traces.records (
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
  at            timestamptz not null,
  started_at    timestamptz not null,
  duration_ms   double precision not null,
  trace_id      text,
  span_id       text,
  -- What the body holds that Postgres text can't (as escapes there, replaced in the columns): nul, lone_surrogate.
  marks         text not null default '',
  -- JSON text as it came: jsonb would re-write numbers and refuse escaped NULs.
  body          text not null,
  stored_at     timestamptz not null default now(),
  primary key (app, run_id, slot)
);

-- What a list shows of a run. The `ended_` columns hold the totals of the fact `ended`, the `counted_` columns what the
-- records sum up to; shown are the former once they are there.
create table traces.runs (
  app                   text not null,
  run_id                text collate "C" not null,
  status                text not null,
  stop_reason           text,
  agent                 text,
  revision              text,
  question              text,
  user_id               text,
  session               text,
  started_at            timestamptz,
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
  trace_id              text,
  first_at              timestamptz not null,
  last_at               timestamptz not null,
  records               bigint not null,
  counted_steps         bigint not null,
  counted_tool_calls    bigint not null,
  counted_tokens        bigint not null,
  counted_cost_nano_usd numeric(40, 0) not null,
  steps                 bigint generated always as (coalesce(ended_steps, counted_steps)) stored,
  tool_calls            bigint generated always as (coalesce(ended_tool_calls, counted_tool_calls)) stored,
  tokens                bigint generated always as (coalesce(ended_tokens, counted_tokens)) stored,
  cost_nano_usd         numeric(40, 0) generated always as (coalesce(ended_cost_nano_usd, counted_cost_nano_usd)) stored,
  listed_at             timestamptz generated always as (coalesce(started_at, first_at)) stored,
  primary key (app, run_id)
);

create index runs_by_time on traces.runs (app, listed_at desc, run_id desc);
create index runs_by_agent on traces.runs (app, agent, listed_at desc, run_id desc);
create index runs_by_status on traces.runs (app, status, listed_at desc, run_id desc);
create index runs_by_stop_reason on traces.runs (app, stop_reason, listed_at desc, run_id desc);

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
