-- Calls that no run makes, several attempts at one call, lines for what died under way, corrections.

alter table gateway.ledger alter column agent drop not null;
alter table gateway.ledger
  -- Whether it is the line of the call's settled reply: there is one such line for a call.
  add column is_final boolean,
  -- The run that a call over HTTP was made for.
  add column for_run_id text,
  -- What had been held for a call whose process died.
  add column held_nano_usd numeric(38, 0),
  -- Of a correction: the line that it corrects, and why.
  add column corrects uuid,
  add column note text;
create unique index ledger_final on gateway.ledger (run_id, m) where is_final;
create index ledger_for_run on gateway.ledger (for_run_id) where for_run_id is not null;
drop index gateway.ledger_run_call;

-- The line of the books for a hold whose process died; absent where no model can have been asked.
alter table gateway.holds add column line jsonb;

-- Writes the line of a hold whose process died.
create function gateway.write_lost(p_line jsonb) returns void language sql as $$
  insert into gateway.ledger
    select (jsonb_populate_record(null::gateway.ledger, p_line || jsonb_build_object('at', clock_timestamp()))).*
    on conflict (call_id) do nothing;
$$;

-- As the function of the same name with fewer parameters, and: keeps the line for the case that the process dies, writes that of
-- a dead process whose hold is taken over, and leaves a hold alone that is still alive when `p_is_exclusive`: then `in_use`.
create function gateway.hold(
  p_run_id text, p_m integer, p_owner text, p_lease_ms integer,
  p_keys text[], p_windows timestamptz[], p_limits numeric[], p_amounts numeric[],
  p_line jsonb, p_is_exclusive boolean,
  out stored text, out refused integer, out left_over numeric[], out in_use boolean
) language plpgsql as $$
declare
  v_old gateway.holds;
  v_expires_at timestamptz := clock_timestamp() + p_lease_ms * interval '1 millisecond';
  v_zeros numeric[] := array_fill(0::numeric, array[cardinality(p_keys)]);
  v_left numeric;
begin
  in_use := false;
  loop
    insert into gateway.holds (run_id, m, owner, expires_at, keys, windows, amounts, line)
      values (p_run_id, p_m, p_owner, v_expires_at, p_keys, p_windows, p_amounts, p_line)
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
    if p_is_exclusive and v_old.expires_at > clock_timestamp() then
      in_use := true;
      return;
    end if;
    if v_old.owner <> p_owner and v_old.line is not null then
      perform gateway.write_lost(v_old.line);
    end if;
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
        set owner = p_owner, expires_at = v_expires_at, keys = p_keys, windows = p_windows, amounts = p_amounts,
            line = p_line
        where h.run_id = p_run_id and h.m = p_m;
    end if;
    return;
  end if;
  perform gateway.shift(p_keys, p_windows, p_amounts, v_zeros);
  delete from gateway.holds h where h.run_id = p_run_id and h.m = p_m;
end $$;

-- Gives back what lapsed holds had set aside, at most `p_max` of them, writes their lines, and tells how many there were.
create or replace function gateway.sweep(p_max integer) returns integer language plpgsql as $$
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
  ), written as (
    insert into gateway.ledger
      select (jsonb_populate_record(null::gateway.ledger, gone.line || jsonb_build_object('at', clock_timestamp()))).*
        from gone where gone.line is not null
      on conflict (call_id) do nothing
  )
  select count(*) into v_count from gone;
  return v_count;
end $$;
