-- Money of model calls: what is held, what was spent, and every reply together with its charge.

-- One row per limit and window: limit >= held + spent, where `held` is the sum of all holds and slices. Only the functions of
-- 0003_functions.sql write here.
create table gateway.counters (
  key text collate "C" not null,
  window_from timestamptz not null,
  held numeric(38, 0) not null default 0 check (held >= 0),
  spent numeric(38, 0) not null default 0,
  primary key (key, window_from)
) with (fillfactor = 70);

-- Money set aside for a call under way, by each process that is at it. `owner` renews `expires_at`; what lapsed is swept.
create table gateway.holds (
  run_id text not null,
  m integer not null,
  owner text not null,
  expires_at timestamptz not null,
  keys text[] not null,
  windows timestamptz[] not null,
  amounts numeric[] not null,
  -- The line of the books in case the process dies; absent where no model can have been asked.
  line jsonb,
  primary key (run_id, m, owner)
);
create index holds_expires_at on gateway.holds (expires_at);
create index holds_owner on gateway.holds (owner);

-- Money that a replica has drawn ahead and gives to calls by itself. `amount` is what is left of it in `counters.held`; `net`
-- is all that was ever drawn less all that was given back, so that both sides agree on it after an answer was lost.
create table gateway.slices (
  owner text not null,
  key text collate "C" not null,
  window_from timestamptz not null,
  amount numeric(38, 0) not null default 0 check (amount >= 0),
  net numeric(38, 0) not null default 0,
  expires_at timestamptz not null,
  primary key (owner, key, window_from)
);
create index slices_key on gateway.slices (key, window_from);

-- What each settled call is answered with when it is asked for again: the thought fact of think work, as JSON text.
create table gateway.replies (
  run_id text not null,
  m integer not null,
  thought text not null,
  at timestamptz not null default now(),
  primary key (run_id, m)
);

-- The books. Append-only.
create table gateway.ledger (
  call_id uuid primary key,
  at timestamptz not null,
  app text not null,
  agent text,
  user_id text,
  run_id text not null,
  m integer not null,
  purpose text not null,
  provider text not null,
  model text not null,
  region text,
  route text not null,
  attempts integer not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  cache_write_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_nano_usd numeric(38, 0) not null,
  price jsonb not null,
  -- By which exchange rates it counted on budgets in other currencies, and since when they held.
  rates jsonb,
  basis text not null check (basis in ('measured', 'estimated')),
  stop_kind text not null,
  trace_id text not null,
  -- Whether it is the line of the call's settled reply: there is one such line for a call.
  is_final boolean not null,
  -- The run that a call over HTTP was made for.
  for_run_id text,
  -- What had been held for a call whose process died.
  held_nano_usd numeric(38, 0),
  -- Of a correction: the line that it corrects, and why.
  corrects uuid,
  note text
);
create index ledger_app_at on gateway.ledger (app, at);
create unique index ledger_final on gateway.ledger (run_id, m) where is_final;
create index ledger_for_run on gateway.ledger (for_run_id) where for_run_id is not null;

create function gateway.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_append_only before update or delete or truncate on gateway.ledger
  for each statement execute function gateway.refuse_change();

-- Which shares of a budget's window have been reached and told, each once.
create table gateway.thresholds (
  key text collate "C" not null,
  window_from timestamptz not null,
  percent integer not null,
  at timestamptz not null default now(),
  primary key (key, window_from, percent)
);

-- Answers that a route allows to be given again to the very same request.
create table gateway.cached_answers (
  key text primary key,
  app text not null,
  answer text not null,
  -- The line of the books of the call that gave it.
  line jsonb not null,
  expires_at timestamptz not null
);
create index cached_answers_expires_at on gateway.cached_answers (expires_at);
