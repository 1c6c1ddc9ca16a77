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

-- Takes `p_held` from what is held and adds `p_spent` to what is spent, on counters that may be listed twice.
-- Locks them in the order of their keys.
create function gateway.shift(p_keys text[], p_windows timestamptz[], p_held numeric[], p_spent numeric[])
returns void language plpgsql as $$
begin
  perform 1 from gateway.counters c
    where (c.key, c.window_from) in (select * from unnest(p_keys, p_windows))
    order by c.key, c.window_from for update;
  update gateway.counters c set held = c.held - change.held, spent = c.spent + change.spent
    from (
      select key, window_from, sum(held) as held, sum(spent) as spent
        from unnest(p_keys, p_windows, p_held, p_spent) as u(key, window_from, held, spent)
        group by key, window_from
    ) as change
    where c.key = change.key and c.window_from = change.window_from;
end $$;

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
  v_zeros numeric[] := array_fill(0::numeric, array[cardinality(p_keys)]);
  v_left numeric;
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
    perform gateway.shift(
      v_old.keys || p_keys, v_old.windows || p_windows, v_old.amounts || v_zeros,
      array_fill(0::numeric, array[cardinality(v_old.keys)]) || v_zeros);
  end if;
  for i in 1 .. cardinality(p_keys) loop
    loop
      update gateway.counters c set held = c.held + p_amounts[i]
        where c.key = p_keys[i] and c.window_from = p_windows[i]
        returning p_limits[i] - c.held - c.spent + p_amounts[i] into v_left;
      exit when found;
      insert into gateway.counters (key, window_from) values (p_keys[i], p_windows[i]) on conflict do nothing;
    end loop;
    left_over[i] := v_left;
    if refused is null and p_amounts[i] > v_left then
      refused := i;
    end if;
  end loop;

  if refused is null then
    if v_old.run_id is not null then
      update gateway.holds h
        set owner = p_owner, expires_at = v_expires_at, keys = p_keys, windows = p_windows, amounts = p_amounts
        where h.run_id = p_run_id and h.m = p_m;
    end if;
    return;
  end if;
  perform gateway.shift(p_keys, p_windows, p_amounts, v_zeros);
  delete from gateway.holds h where h.run_id = p_run_id and h.m = p_m;
end $$;

-- Settles a call once: keeps its thought, gives its hold back, counts what it took, writes the books, all or nothing.
-- Gives the thought that was stored before, and then charges nothing; else null. Without a thought only money is settled,
-- and a hold that another process has taken over stays with it.
create function gateway.charge(
  p_run_id text, p_m integer, p_owner text, p_thought text,
  p_keys text[], p_windows timestamptz[], p_amounts numeric[], p_entry jsonb
) returns text language plpgsql as $$
declare
  v_hold gateway.holds;
  v_stored text;
  v_is_charged boolean := false;
begin
  delete from gateway.holds h
    where h.run_id = p_run_id and h.m = p_m and (p_thought is not null or h.owner = p_owner)
    returning * into v_hold;
  if p_thought is not null then
    insert into gateway.replies (run_id, m, thought) values (p_run_id, p_m, p_thought) on conflict do nothing;
    if not found then
      select r.thought into v_stored from gateway.replies r where r.run_id = p_run_id and r.m = p_m;
      v_is_charged := true;
    end if;
  end if;
  if p_entry is not null and not v_is_charged then
    insert into gateway.ledger select (jsonb_populate_record(null::gateway.ledger, p_entry)).* on conflict (call_id) do nothing;
    v_is_charged := not found;
  end if;

  if v_is_charged then
    p_amounts := array_fill(0::numeric, array[cardinality(p_keys)]);
  end if;
  if v_hold.keys = p_keys and v_hold.windows = p_windows then
    for i in 1 .. cardinality(p_keys) loop
      update gateway.counters c set held = c.held - v_hold.amounts[i], spent = c.spent + p_amounts[i]
        where c.key = p_keys[i] and c.window_from = p_windows[i];
    end loop;
  else
    perform gateway.shift(
      coalesce(v_hold.keys, '{}') || p_keys,
      coalesce(v_hold.windows, '{}') || p_windows,
      coalesce(v_hold.amounts, '{}') || array_fill(0::numeric, array[cardinality(p_keys)]),
      array_fill(0::numeric, array[coalesce(cardinality(v_hold.keys), 0)]) || p_amounts);
  end if;
  return v_stored;
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
