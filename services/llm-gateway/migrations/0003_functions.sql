-- How money moves. Every function locks what it touches in one order: calls by their address, then slices, then counters by
-- their keys; so no two of them can wait for each other.

-- Takes `p_held` from what is held and adds `p_spent` to what is spent, on counters that may be listed twice or not exist yet.
create function gateway.shift(p_keys text[], p_windows timestamptz[], p_held numeric[], p_spent numeric[])
returns void language plpgsql as $$
begin
  insert into gateway.counters (key, window_from)
    select distinct u.key, u.window_from from unnest(p_keys, p_windows) as u(key, window_from)
      where not exists (select from gateway.counters c where c.key = u.key and c.window_from = u.window_from)
      order by 1, 2
    on conflict do nothing;
  with change as (
    select u.key, u.window_from, sum(u.held) as held, sum(u.spent) as spent
      from unnest(p_keys, p_windows, p_held, p_spent) as u(key, window_from, held, spent)
      group by u.key, u.window_from
  ), locked as materialized (
    select c.key, c.window_from, change.held, change.spent
      from gateway.counters c join change on c.key = change.key and c.window_from = change.window_from
      order by c.key, c.window_from for update of c
  )
  update gateway.counters c set held = c.held - locked.held, spent = c.spent + locked.spent
    from locked where c.key = locked.key and c.window_from = locked.window_from;
end $$;

-- Writes the lines of holds whose processes died.
create function gateway.write_lost(p_lines jsonb[]) returns void language sql as $$
  insert into gateway.ledger
    select (jsonb_populate_record(null::gateway.ledger, line || jsonb_build_object('at', clock_timestamp()))).*
      from unnest(p_lines) as line where line is not null
    on conflict (call_id) do nothing;
$$;

-- Sets money aside for several calls, in the order given, for each on every level or on none. `p_keys` and `p_windows` are the
-- counters of all of them, once each; a call names its own by place. What its owner held for the same call before is replaced.
-- For each call: `stored` when it was settled before; `in_use` when it is exclusive and under way; else `refused`, the first
-- level (from 1) that does not have enough, if any. With a refusal: what was `left` on each level, how many `others` have a
-- slice of one, and whether another process has a hold for the very call (`is_shared`).
create function gateway.hold(
  p_owner text, p_lease_ms integer, p_keys text[], p_windows timestamptz[], p_calls jsonb
) returns jsonb language plpgsql as $$
declare
  v_call record;
  v_old gateway.holds;
  v_now timestamptz := clock_timestamp();
  v_expires_at timestamptz := v_now + p_lease_ms * interval '1 millisecond';
  v_outcomes jsonb[] := array_fill(null::jsonb, array[jsonb_array_length(p_calls)]);
  v_keys text[] := '{}';
  v_windows timestamptz[] := '{}';
  v_amounts numeric[] := '{}';
  v_held numeric[];
  v_free numeric[];
  v_left numeric[];
  v_refused integer;
  v_is_changed boolean := false;
begin
  for v_call in
    select c.* from jsonb_to_recordset(p_calls)
      as c(place integer, run_id text, m integer, is_exclusive boolean, is_replacing boolean)
      order by c.run_id, c.m
  loop
    -- A row of another process that is not committed yet can't be seen.
    perform pg_advisory_xact_lock(hashtextextended(v_call.run_id, v_call.m));
    if v_call.is_exclusive and not v_call.is_replacing and exists (
      select from gateway.holds h where h.run_id = v_call.run_id and h.m = v_call.m and h.expires_at > clock_timestamp()
    ) then
      v_outcomes[v_call.place] := '{"in_use": true}';
    end if;
    v_outcomes[v_call.place] := coalesce(
      (select jsonb_build_object('stored', r.thought) from gateway.replies r where r.run_id = v_call.run_id and r.m = v_call.m),
      v_outcomes[v_call.place]);
    if v_outcomes[v_call.place] is null then
      delete from gateway.holds h where h.run_id = v_call.run_id and h.m = v_call.m and h.owner = p_owner returning * into v_old;
      if found then
        v_keys := v_keys || v_old.keys;
        v_windows := v_windows || v_old.windows;
        v_amounts := v_amounts || v_old.amounts;
      end if;
    end if;
  end loop;

  perform gateway.shift(
    v_keys || p_keys, v_windows || p_windows, v_amounts || array_fill(0::numeric, array[cardinality(p_keys)]),
    array_fill(0::numeric, array[cardinality(v_keys) + cardinality(p_keys)]));
  select array_agg(c.held + c.spent order by u.place) into v_held
    from unnest(p_keys, p_windows) with ordinality as u(key, window_from, place)
    join gateway.counters c on c.key = u.key and c.window_from = u.window_from;
  v_free := v_held;

  for v_call in
    select c.* from jsonb_to_recordset(p_calls)
      as c(place integer, run_id text, m integer, levels integer[], limits numeric[], needs numeric[], line jsonb)
      order by c.place
  loop
    continue when v_outcomes[v_call.place] is not null;
    v_refused := null;
    v_left := '{}';
    for i in 1 .. cardinality(v_call.levels) loop
      v_left[i] := v_call.limits[i] - v_held[v_call.levels[i]];
      if v_refused is null and v_call.needs[i] > v_left[i] then
        v_refused := i;
      end if;
    end loop;
    if v_refused is null then
      for i in 1 .. cardinality(v_call.levels) loop
        v_held[v_call.levels[i]] := v_held[v_call.levels[i]] + v_call.needs[i];
      end loop;
      v_is_changed := true;
      v_outcomes[v_call.place] := '{}';
      insert into gateway.holds (run_id, m, owner, expires_at, keys, windows, amounts, line) values (
        v_call.run_id, v_call.m, p_owner, v_expires_at,
        array(select p_keys[l] from unnest(v_call.levels) with ordinality as u(l, n) order by n),
        array(select p_windows[l] from unnest(v_call.levels) with ordinality as u(l, n) order by n),
        v_call.needs, v_call.line);
    else
      v_outcomes[v_call.place] := jsonb_build_object(
        'refused', v_refused,
        'left', array(select l::text from unnest(v_left) with ordinality as u(l, n) order by n),
        'others', (
          select count(distinct s.owner) from unnest(v_call.levels) as l
            join gateway.slices s on s.key = p_keys[l] and s.window_from = p_windows[l]
            where s.owner <> p_owner and s.amount > 0),
        'is_shared', exists (
          select from gateway.holds h where h.run_id = v_call.run_id and h.m = v_call.m and h.owner <> p_owner));
    end if;
  end loop;

  if v_is_changed then
    update gateway.counters c set held = c.held + u.after - u.before
      from unnest(p_keys, p_windows, v_held, v_free) as u(key, window_from, after, before)
      where c.key = u.key and c.window_from = u.window_from and u.after <> u.before;
  end if;
  return to_jsonb(v_outcomes);
end $$;

-- Settles several calls, each once: keeps its thought, gives back what its owner held, counts what it took, writes the books;
-- all of them or none. For each the thought that was stored before, and then nothing is charged; else null. Without a thought
-- only money is settled. `covered` is what of a level comes out of the owner's slice.
create function gateway.charge(p_calls jsonb) returns text[] language plpgsql as $$
declare
  v_call record;
  v_hold gateway.holds;
  v_stored text[] := array_fill(null::text, array[jsonb_array_length(p_calls)]);
  v_is_charged boolean;
  v_keys text[] := '{}';
  v_windows timestamptz[] := '{}';
  v_held numeric[] := '{}';
  v_spent numeric[] := '{}';
  v_sliced jsonb[] := '{}';
begin
  for v_call in
    select c.* from jsonb_to_recordset(p_calls)
      as c(place integer, run_id text, m integer, owner text, thought text, entry jsonb,
           keys text[], windows timestamptz[], taken numeric[], covered numeric[])
      order by c.run_id, c.m, c.owner
  loop
    v_is_charged := false;
    delete from gateway.holds h where h.run_id = v_call.run_id and h.m = v_call.m and h.owner = v_call.owner returning * into v_hold;
    if found then
      v_keys := v_keys || v_hold.keys;
      v_windows := v_windows || v_hold.windows;
      v_held := v_held || v_hold.amounts;
      v_spent := v_spent || array_fill(0::numeric, array[cardinality(v_hold.keys)]);
    end if;
    if v_call.thought is not null then
      insert into gateway.replies (run_id, m, thought) values (v_call.run_id, v_call.m, v_call.thought) on conflict do nothing;
      if not found then
        v_stored[v_call.place] := (
          select r.thought from gateway.replies r where r.run_id = v_call.run_id and r.m = v_call.m);
        v_is_charged := true;
      end if;
    end if;
    if v_call.entry is not null and not v_is_charged then
      insert into gateway.ledger select (jsonb_populate_record(null::gateway.ledger, v_call.entry)).* on conflict (call_id) do nothing;
      v_is_charged := not found;
    end if;
    continue when v_is_charged;
    v_keys := v_keys || v_call.keys;
    v_windows := v_windows || v_call.windows;
    v_held := v_held || array_fill(0::numeric, array[cardinality(v_call.keys)]);
    v_spent := v_spent || v_call.taken;
    if v_call.covered is not null then
      v_sliced := v_sliced || jsonb_build_object(
        'owner', v_call.owner, 'keys', v_call.keys, 'windows', v_call.windows, 'covered', v_call.covered);
    end if;
  end loop;

  if cardinality(v_sliced) > 0 then
    with part as (
      select s.owner, u.key, u.window_from, sum(u.covered) as covered
        from unnest(v_sliced) as one, jsonb_to_record(one) as s(owner text, keys text[], windows timestamptz[], covered numeric[]),
             unnest(s.keys, s.windows, s.covered) as u(key, window_from, covered)
        where u.covered > 0
        group by s.owner, u.key, u.window_from
    ), locked as materialized (
      select s.owner, s.key, s.window_from, least(s.amount, part.covered) as covered
        from gateway.slices s join part on part.owner = s.owner and part.key = s.key and part.window_from = s.window_from
        order by s.owner, s.key, s.window_from for update of s
    ), taken as (
      update gateway.slices s set amount = s.amount - locked.covered from locked
        where s.owner = locked.owner and s.key = locked.key and s.window_from = locked.window_from
    )
    select v_keys || coalesce(array_agg(key), '{}'), v_windows || coalesce(array_agg(window_from), '{}'),
           v_held || coalesce(array_agg(covered), '{}'), v_spent || coalesce(array_agg(0::numeric), '{}')
      into v_keys, v_windows, v_held, v_spent from locked;
  end if;
  if cardinality(v_keys) > 0 then
    perform gateway.shift(v_keys, v_windows, v_held, v_spent);
  end if;
  return v_stored;
end $$;

-- Draws up to `p_wish` more for a replica's slice, but no more than an eighth of what is left, and nothing below `p_least`.
-- `p_is_new`: whatever the replica had before, it knows nothing of it. Gives the slice's `net`.
create function gateway.draw(
  p_owner text, p_lease_ms integer, p_key text, p_window timestamptz, p_limit numeric, p_wish numeric, p_least numeric,
  p_is_new boolean
) returns numeric language plpgsql as $$
declare
  v_net numeric;
  v_old numeric := 0;
  v_granted numeric;
begin
  if p_is_new then
    delete from gateway.slices s where s.owner = p_owner and s.key = p_key and s.window_from = p_window
      returning s.amount into v_old;
    update gateway.counters c set held = c.held - v_old
      where c.key = p_key and c.window_from = p_window and v_old > 0;
  end if;
  insert into gateway.slices as s (owner, key, window_from, expires_at)
    values (p_owner, p_key, p_window, clock_timestamp() + p_lease_ms * interval '1 millisecond')
    on conflict (owner, key, window_from) do update set expires_at = excluded.expires_at
    returning s.net into v_net;
  insert into gateway.counters (key, window_from) values (p_key, p_window) on conflict do nothing;
  select least(p_wish, div(p_limit - c.held - c.spent, 8)) into v_granted
    from gateway.counters c where c.key = p_key and c.window_from = p_window for update;
  if v_granted < p_least then
    return v_net;
  end if;
  update gateway.counters c set held = c.held + v_granted where c.key = p_key and c.window_from = p_window;
  update gateway.slices s set amount = s.amount + v_granted, net = s.net + v_granted
    where s.owner = p_owner and s.key = p_key and s.window_from = p_window
    returning s.net into v_net;
  return v_net;
end $$;

-- Gives some of a replica's slice back. Gives the slice's `net`, or null when it has lapsed.
create function gateway.give_back(p_owner text, p_key text, p_window timestamptz, p_amount numeric)
returns numeric language plpgsql as $$
declare
  v_slice gateway.slices;
  v_part numeric;
begin
  select * into v_slice from gateway.slices s where s.owner = p_owner and s.key = p_key and s.window_from = p_window for update;
  if not found then
    return null;
  end if;
  v_part := least(p_amount, v_slice.amount);
  update gateway.slices s set amount = s.amount - v_part, net = s.net - v_part
    where s.owner = p_owner and s.key = p_key and s.window_from = p_window;
  update gateway.counters c set held = c.held - v_part where c.key = p_key and c.window_from = p_window;
  return v_slice.net - v_part;
end $$;

-- Gives back what lapsed holds and slices had set aside, at most `p_max` of each, writes the lines of the holds, and tells how
-- many there were.
create function gateway.sweep(p_max integer) returns integer language plpgsql as $$
declare
  v_keys text[];
  v_windows timestamptz[];
  v_amounts numeric[];
  v_count integer;
  v_lines jsonb[];
begin
  with lapsed as (
    select h.run_id, h.m, h.owner from gateway.holds h where h.expires_at < clock_timestamp()
      order by h.expires_at limit p_max for update skip locked
  ), gone as (
    delete from gateway.holds h using lapsed
      where h.run_id = lapsed.run_id and h.m = lapsed.m and h.owner = lapsed.owner returning h.*
  ), ended as (
    select s.owner, s.key, s.window_from from gateway.slices s where s.expires_at < clock_timestamp()
      limit p_max for update skip locked
  ), undone as (
    delete from gateway.slices s using ended
      where s.owner = ended.owner and s.key = ended.key and s.window_from = ended.window_from returning s.*
  ), change as (
    select o.key, o.window_from, o.amount from gone, unnest(gone.keys, gone.windows, gone.amounts) as o(key, window_from, amount)
    union all
    select u.key, u.window_from, u.amount from undone u
  )
  select array_agg(c.key), array_agg(c.window_from), array_agg(c.amount),
         (select count(*) from gone) + (select count(*) from undone),
         (select array_agg(gone.line) from gone)
    into v_keys, v_windows, v_amounts, v_count, v_lines from change c;
  if v_keys is not null then
    perform gateway.shift(v_keys, v_windows, v_amounts, array_fill(0::numeric, array[cardinality(v_keys)]));
  end if;
  perform gateway.write_lost(v_lines);
  return v_count;
end $$;
