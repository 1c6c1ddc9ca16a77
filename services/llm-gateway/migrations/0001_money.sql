-- Money of model calls: what is held, what was spent, and every reply together with its charge.

-- One row per limit and window. Only the functions below write here.
create table gateway.counters (
  key text collate "C" not null,
  window_from timestamptz not null,
  held numeric(38, 0) not null default 0 check (held >= 0),
  spent numeric(38, 0) not null default 0,
  primary key (key, window_from)
) with (fillfactor = 70);

-- Money set aside for a call under way. `owner` renews `expires_at`; what lapsed is swept.
create table gateway.holds (
  run_id text not null,
  m integer not null,
  owner text not null,
  expires_at timestamptz not null,
  keys text[] not null,
  windows timestamptz[] not null,
  amounts numeric[] not null,
  primary key (run_id, m)
);
create index holds_expires_at on gateway.holds (expires_at);
create index holds_owner on gateway.holds (owner);

-- The thought fact of each settled call, as JSON text, so that it can be published again.
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
  agent text not null,
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
  basis text not null check (basis in ('measured', 'estimated')),
  -- reply, refused, unavailable, broken, stopped, abandoned
  stop_kind text not null,
  trace_id text not null
);
create index ledger_app_at on gateway.ledger (app, at);
-- A call of a run is charged once; what a process left behind when it was told to stop comes on top.
create unique index ledger_run_call on gateway.ledger (run_id, m) where stop_kind <> 'abandoned';

create function gateway.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the ledger is append-only';
end $$;
create trigger ledger_append_only before update or delete or truncate on gateway.ledger
  for each statement execute function gateway.refuse_change();

-- Sets money aside on every level of a call, or on none. Locks the call's hold, then the counters in the order of their
-- keys, as every function here does. A hold that a dead process left for the same call is taken over.
-- Gives the stored thought when the call was settled before; else `refused`, the first level (from 1) that does not have
-- enough, or null; and what was left on each level before the hold.
create function gateway.hold(
  p_run_id text, p_m integer, p_owner text, p_lease_ms integer,
  p_keys text[], p_windows timestamptz[], p_limits numeric[], p_amounts numeric[],
  out stored text, out refused integer, out left_over numeric[]
) language plpgsql as $$
declare
  v_old gateway.holds;
  v_expires_at timestamptz := clock_timestamp() + p_lease_ms * interval '1 millisecond';
  v_held numeric;
  v_spent numeric;
  v_given_back numeric;
begin
  loop
    insert into gateway.holds (run_id, m, owner, expires_at, keys, windows, amounts)
      values (p_run_id, p_m, p_owner, v_expires_at, p_keys, p_windows, p_amounts)
      on conflict do nothing;
    exit when found;
    select * into v_old from gateway.holds h where h.run_id = p_run_id and h.m = p_m for update;
    exit when found;
  end loop;

  select r.thought into stored from gateway.replies r where r.run_id = p_run_id and r.m = p_m;
  if found then
    if v_old.run_id is null then
      delete from gateway.holds h where h.run_id = p_run_id and h.m = p_m;
    end if;
    return;
  end if;

  if v_old.run_id is not null then
    perform 1 from gateway.counters c
      where (c.key, c.window_from) in (
        select * from unnest(v_old.keys, v_old.windows) union select * from unnest(p_keys, p_windows))
      order by c.key, c.window_from for update;
  end if;

  for i in 1 .. cardinality(p_keys) loop
    loop
      select c.held, c.spent into v_held, v_spent from gateway.counters c
        where c.key = p_keys[i] and c.window_from = p_windows[i] for update;
      exit when found;
      insert into gateway.counters (key, window_from) values (p_keys[i], p_windows[i]) on conflict do nothing;
    end loop;
    select coalesce(sum(o.amount), 0) into v_given_back
      from unnest(v_old.keys, v_old.windows, v_old.amounts) as o(key, window_from, amount)
      where o.key = p_keys[i] and o.window_from = p_windows[i];
    left_over[i] := p_limits[i] - v_held - v_spent + v_given_back;
    if refused is null and p_amounts[i] > left_over[i] then
      refused := i;
    end if;
  end loop;

  if refused is not null then
    if v_old.run_id is null then
      delete from gateway.holds h where h.run_id = p_run_id and h.m = p_m;
    end if;
    return;
  end if;

  if v_old.run_id is not null then
    update gateway.counters c set held = c.held - o.amount
      from unnest(v_old.keys, v_old.windows, v_old.amounts) as o(key, window_from, amount)
      where c.key = o.key and c.window_from = o.window_from;
    update gateway.holds h
      set owner = p_owner, expires_at = v_expires_at, keys = p_keys, windows = p_windows, amounts = p_amounts
      where h.run_id = p_run_id and h.m = p_m;
  end if;
  for i in 1 .. cardinality(p_keys) loop
    update gateway.counters c set held = c.held + p_amounts[i]
      where c.key = p_keys[i] and c.window_from = p_windows[i];
  end loop;
end $$;

-- Settles a call once: keeps its thought, gives its hold back, counts what it took, writes the books, all or nothing.
-- Gives the thought that was stored before, and then changes nothing; else null. Without a thought only money is settled.
create function gateway.charge(
  p_run_id text, p_m integer, p_owner text, p_thought text,
  p_keys text[], p_windows timestamptz[], p_amounts numeric[], p_entry jsonb
) returns text language plpgsql as $$
declare
  v_hold gateway.holds;
  v_stored text;
begin
  select * into v_hold from gateway.holds h where h.run_id = p_run_id and h.m = p_m for update;
  if p_thought is null then
    -- The process stops; a hold that another has taken over stays with its new owner.
    if v_hold.owner <> p_owner then
      v_hold := null;
    end if;
  else
    insert into gateway.replies (run_id, m, thought) values (p_run_id, p_m, p_thought) on conflict do nothing;
    if not found then
      select r.thought into v_stored from gateway.replies r where r.run_id = p_run_id and r.m = p_m;
      return v_stored;
    end if;
  end if;

  if p_entry is not null then
    insert into gateway.ledger select (jsonb_populate_record(null::gateway.ledger, p_entry)).* on conflict (call_id) do nothing;
    if not found then
      return null;
    end if;
  end if;

  perform 1 from gateway.counters c
    where (c.key, c.window_from) in (
      select * from unnest(v_hold.keys, v_hold.windows) union select * from unnest(p_keys, p_windows))
    order by c.key, c.window_from for update;
  update gateway.counters c set held = c.held - change.held, spent = c.spent + change.spent
    from (
      select key, window_from, sum(held) as held, sum(spent) as spent from (
        select key, window_from, amount as held, 0 as spent
          from unnest(v_hold.keys, v_hold.windows, v_hold.amounts) as h(key, window_from, amount)
        union all
        select key, window_from, 0, amount from unnest(p_keys, p_windows, p_amounts) as t(key, window_from, amount)
      ) as both_sides group by key, window_from
    ) as change
    where c.key = change.key and c.window_from = change.window_from;
  if v_hold.run_id is not null then
    delete from gateway.holds h where h.run_id = p_run_id and h.m = p_m;
  end if;
  return null;
end $$;

-- Gives back what lapsed holds had set aside, at most `p_max` of them, and tells how many.
create function gateway.sweep(p_max integer) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  with lapsed as (
    select h.run_id, h.m from gateway.holds h where h.expires_at < clock_timestamp()
      order by h.expires_at limit p_max for update skip locked
  ), gone as (
    delete from gateway.holds h using lapsed where h.run_id = lapsed.run_id and h.m = lapsed.m returning h.*
  ), change as (
    select o.key, o.window_from, sum(o.amount) as amount
      from gone, unnest(gone.keys, gone.windows, gone.amounts) as o(key, window_from, amount)
      group by o.key, o.window_from
  ), locked as materialized (
    select c.key, c.window_from, change.amount
      from gateway.counters c join change on c.key = change.key and c.window_from = change.window_from
      order by c.key, c.window_from for update of c
  ), given_back as (
    update gateway.counters c set held = c.held - locked.amount
      from locked where c.key = locked.key and c.window_from = locked.window_from
  )
  select count(*) into v_count from gone;
  return v_count;
end $$;
