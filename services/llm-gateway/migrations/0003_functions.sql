-- How money moves. Every function locks what it touches in one order: calls by their address, then slices, then counters by
-- their keys; so no two of them can wait for each other.

-- Takes `p_held` from what is held and adds `p_spent` to what is spent, on counters that may be listed twice or not exist yet.
create function gateway.shift(p_keys text[], p_windows timestamptz[], p_held numeric[], p_spent numeric[])
returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
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
    select entry.* from unnest(p_lines) as line
      cross join lateral jsonb_populate_record(null::gateway.ledger, line || jsonb_build_object('at', clock_timestamp())) as entry
      where line is not null
    on conflict (call_id) do nothing;
$$;

-- Sets money aside for several calls, in the order given, for each on every level or on none. `p_keys` and `p_windows` are the
-- counters of all of them, once each. Their levels come in one list, call by call: whose it is (`p_of`), its counter
-- (`p_counters`, by place), its limit and its need. What the owner held for the same call before is replaced.
-- For each call: `stored` when it was settled before; `in_use` when it is exclusive and under way; else `refused`, the first of
-- its levels (from 1) that does not have enough, if any. With a refusal: what was `left` on each level, which `others` have a slice
-- of one, and whether another process has a hold for the very call (`is_shared`).
create function gateway.hold(
  p_owner text, p_lease_ms integer, p_run_ids text[], p_ms integer[], p_are_exclusive boolean[], p_are_replacing boolean[],
  p_lines jsonb, p_keys text[], p_windows timestamptz[],
  p_of integer[], p_counters integer[], p_limits numeric[], p_needs numeric[]
) returns jsonb[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_outcomes jsonb[] := array_fill(null::jsonb, array[cardinality(p_run_ids)]);
  v_admitted integer[] := '{}';
  v_keys text[];
  v_windows timestamptz[];
  v_amounts numeric[];
  v_before numeric[];
  v_used numeric[];
  v_first integer := 1;
  v_last integer;
  v_refused integer;
begin
  -- A row of another process that is not committed yet can't be seen.
  perform pg_advisory_xact_lock(hashtextextended(c.run_id, c.m))
    from (select * from unnest(p_run_ids, p_ms) as u(run_id, m) order by 1, 2) as c;
  select array_agg(
      case when r.run_id is not null then jsonb_build_object('stored', r.thought)
           when c.is_exclusive and not c.is_replacing and exists (
             select from gateway.holds h where h.run_id = c.run_id and h.m = c.m and h.expires_at > clock_timestamp()
           ) then '{"in_use": true}' end
      order by c.place)
    into v_outcomes
    from unnest(p_run_ids, p_ms, p_are_exclusive, p_are_replacing) with ordinality as c(run_id, m, is_exclusive, is_replacing, place)
    left join gateway.replies r on r.run_id = c.run_id and r.m = c.m;
  with gone as (
    delete from gateway.holds h using unnest(p_run_ids, p_ms, v_outcomes) as c(run_id, m, outcome)
      where h.run_id = c.run_id and h.m = c.m and h.owner = p_owner and c.outcome is null returning h.*
  )
  select coalesce(array_agg(o.key), '{}'), coalesce(array_agg(o.window_from), '{}'), coalesce(array_agg(o.amount), '{}')
    into v_keys, v_windows, v_amounts
    from gone, unnest(gone.keys, gone.windows, gone.amounts) as o(key, window_from, amount);

  perform gateway.shift(
    v_keys || p_keys, v_windows || p_windows, v_amounts || array_fill(0::numeric, array[cardinality(p_keys)]),
    array_fill(0::numeric, array[cardinality(v_keys) + cardinality(p_keys)]));
  select array_agg(c.held + c.spent order by u.place) into v_before
    from unnest(p_keys, p_windows) with ordinality as u(key, window_from, place)
    join gateway.counters c on c.key = u.key and c.window_from = u.window_from;
  v_used := v_before;

  for i in 1 .. cardinality(p_run_ids) loop
    v_last := v_first;
    v_refused := null;
    while p_of[v_last] = i loop
      if v_refused is null and p_needs[v_last] > p_limits[v_last] - v_used[p_counters[v_last]] then
        v_refused := v_last;
      end if;
      v_last := v_last + 1;
    end loop;
    if v_outcomes[i] is null and v_refused is null then
      for l in v_first .. v_last - 1 loop
        v_used[p_counters[l]] := v_used[p_counters[l]] + p_needs[l];
      end loop;
      v_outcomes[i] := '{}';
      v_admitted := v_admitted || i;
    elsif v_outcomes[i] is null then
      v_outcomes[i] := jsonb_build_object(
        'refused', v_refused - v_first + 1,
        'left', array(select (p_limits[l] - v_used[p_counters[l]])::text from generate_series(v_first, v_last - 1) as l),
        'others', (
          select coalesce(jsonb_agg(distinct s.owner), '[]') from generate_series(v_first, v_last - 1) as l
            join gateway.slices s on s.key = p_keys[p_counters[l]] and s.window_from = p_windows[p_counters[l]]
            where s.owner <> p_owner and s.amount > 0),
        'is_shared', exists (
          select from gateway.holds h where h.run_id = p_run_ids[i] and h.m = p_ms[i] and h.owner <> p_owner));
    end if;
    v_first := v_last;
  end loop;

  if cardinality(v_admitted) > 0 then
    insert into gateway.holds (run_id, m, owner, expires_at, keys, windows, amounts, line)
      select p_run_ids[i], p_ms[i], p_owner, clock_timestamp() + p_lease_ms * interval '1 millisecond',
             coalesce(array_agg(p_keys[p_counters[l]] order by l) filter (where l is not null), '{}'),
             coalesce(array_agg(p_windows[p_counters[l]] order by l) filter (where l is not null), '{}'),
             coalesce(array_agg(p_needs[l] order by l) filter (where l is not null), '{}'),
             nullif(p_lines -> (i - 1), 'null')
        from unnest(v_admitted) as i left join generate_subscripts(p_of, 1) as l on p_of[l] = i
        group by i;
    update gateway.counters c set held = c.held + u.used - u.before
      from unnest(p_keys, p_windows, v_used, v_before) as u(key, window_from, used, before)
      where c.key = u.key and c.window_from = u.window_from and u.used <> u.before;
  end if;
  return v_outcomes;
end $$;

-- Settles several calls, each once: keeps its thought, gives back what its owner held, counts what it took, writes the books;
-- all of them or none. For each the thought that was stored before, and then nothing is charged; else null. Without a thought
-- only money is settled. Levels come in one list, call by call (`p_of`); `p_covered` is what of a level comes out of the owner's
-- slice, null where the call was held by itself. `p_may_hold`: whether there may be a hold of the call's own.
create function gateway.charge(
  p_run_ids text[], p_ms integer[], p_owners text[], p_may_hold boolean[], p_thoughts text[], p_entries jsonb,
  p_of integer[], p_keys text[], p_windows timestamptz[], p_taken numeric[], p_covered numeric[]
) returns text[] language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  v_charged integer[] := array(select generate_subscripts(p_run_ids, 1));
  v_told integer[];
  v_lines uuid[];
  v_stored text[] := array_fill(null::text, array[cardinality(p_run_ids)]);
  v_keys text[] := '{}';
  v_windows timestamptz[] := '{}';
  v_held numeric[] := '{}';
  v_spent numeric[] := '{}';
  v_part record;
begin
  if true = any(p_may_hold) then
    with locked as materialized (
      select h.run_id, h.m, h.owner from gateway.holds h
        join unnest(p_run_ids, p_ms, p_owners) as c(run_id, m, owner) on c.run_id = h.run_id and c.m = h.m and c.owner = h.owner
        order by h.run_id, h.m, h.owner for update of h
    ), gone as (
      delete from gateway.holds h using locked
        where h.run_id = locked.run_id and h.m = locked.m and h.owner = locked.owner returning h.*
    )
    select coalesce(array_agg(o.key), '{}'), coalesce(array_agg(o.window_from), '{}'), coalesce(array_agg(o.amount), '{}'),
           coalesce(array_agg(0::numeric), '{}')
      into v_keys, v_windows, v_held, v_spent
      from gone, unnest(gone.keys, gone.windows, gone.amounts) as o(key, window_from, amount);
  end if;

  if cardinality(array_remove(p_thoughts, null)) > 0 then
    with told as (
      insert into gateway.replies (run_id, m, thought)
        select c.run_id, c.m, c.thought from unnest(p_run_ids, p_ms, p_thoughts) as c(run_id, m, thought)
          where c.thought is not null order by 1, 2
        on conflict do nothing returning run_id, m
    )
    select coalesce(array_agg(c.place), '{}') into v_told
      from told join unnest(p_run_ids, p_ms) with ordinality as c(run_id, m, place) on c.run_id = told.run_id and c.m = told.m;
    v_charged := array(select i from unnest(v_charged) as i where p_thoughts[i] is null or i = any(v_told));
    if cardinality(v_charged) < cardinality(p_run_ids) then
      select array_agg(r.thought order by c.place) into v_stored
        from unnest(p_run_ids, p_ms) with ordinality as c(run_id, m, place)
        left join gateway.replies r on r.run_id = c.run_id and r.m = c.m and c.place <> all(v_charged);
    end if;
  end if;

  with written as (
    insert into gateway.ledger
      select * from jsonb_populate_recordset(
        null::gateway.ledger,
        (select coalesce(jsonb_agg(p_entries -> (i - 1)), '[]') from unnest(v_charged) as i where p_entries -> (i - 1) <> 'null'))
      on conflict (call_id) do nothing returning call_id
  )
  select coalesce(array_agg(call_id), '{}') into v_lines from written;
  v_charged := array(
    select i from unnest(v_charged) as i
      where p_entries -> (i - 1) = 'null' or (p_entries -> (i - 1) ->> 'call_id')::uuid = any(v_lines));

  if cardinality(array_remove(p_covered, null)) > 0 then
    for v_part in
      with part as (
        select p_owners[p_of[l]] as owner, p_keys[l] as key, p_windows[l] as window_from, sum(p_covered[l]) as covered
          from generate_subscripts(p_of, 1) as l where p_of[l] = any(v_charged) and p_covered[l] > 0
          group by 1, 2, 3
      ), locked as materialized (
        select s.owner, s.key, s.window_from, least(s.amount, part.covered) as covered
          from gateway.slices s join part on part.owner = s.owner and part.key = s.key and part.window_from = s.window_from
          order by s.owner, s.key, s.window_from for update of s
      )
      update gateway.slices s set amount = s.amount - locked.covered from locked
        where s.owner = locked.owner and s.key = locked.key and s.window_from = locked.window_from
        returning s.key, s.window_from, locked.covered
    loop
      v_keys := v_keys || v_part.key;
      v_windows := v_windows || v_part.window_from;
      v_held := v_held || v_part.covered;
      v_spent := v_spent || 0::numeric;
    end loop;
  end if;
  for l in 1 .. cardinality(p_of) loop
    continue when p_of[l] <> all(v_charged);
    v_keys := v_keys || p_keys[l];
    v_windows := v_windows || p_windows[l];
    v_held := v_held || 0::numeric;
    v_spent := v_spent || p_taken[l];
  end loop;
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
