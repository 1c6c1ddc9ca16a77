-- Functions of 0003_functions.sql anew.
--
-- 1. They find rows by their keys, one after the other, whatever the planner believes of a table that was small when a connection first
--    used it: what they cost doesn't grow with the tables.
-- 2. The owner 'ahead' is no process: what it holds is for the call that a run is likely to make next, and lapses unless that call
--    comes soon, whoever makes it.

-- Takes `p_held` from what is held and adds `p_spent` to what is spent, on counters that may be listed twice or not exist yet.
create or replace function gateway.shift(p_keys text[], p_windows timestamptz[], p_held numeric[], p_spent numeric[])
returns void language plpgsql as $$
declare
  v_part record;
begin
  for v_part in
    select u.key, u.window_from, sum(u.held) as held, sum(u.spent) as spent
      from unnest(p_keys, p_windows, p_held, p_spent) as u(key, window_from, held, spent)
      group by u.key, u.window_from order by u.key collate "C", u.window_from
  loop
    update gateway.counters c set held = c.held - v_part.held, spent = c.spent + v_part.spent
      where c.key = v_part.key and c.window_from = v_part.window_from;
    continue when found;
    insert into gateway.counters as c (key, window_from, held, spent)
      values (v_part.key, v_part.window_from, -v_part.held, v_part.spent)
      on conflict (key, window_from) do update set held = c.held - v_part.held, spent = c.spent + v_part.spent;
  end loop;
end $$;

-- Sets money aside for several calls, in the order given, for each on every level or on none. `p_keys` and `p_windows` are the
-- counters of all of them, once each. Their levels come in one list, call by call: whose it is (`p_of`), its counter
-- (`p_counters`, by place), its limit and its need. What the owner held for the same call before is replaced, and what was held
-- ahead for it.
-- For each call: `stored` when it was settled before; `in_use` when it is exclusive and under way; else `refused`, the first of
-- its levels (from 1) that does not have enough, if any. With a refusal: what was `left` on each level, which `others` have a slice
-- of one, whether another process has a hold for the very call (`is_shared`), and what of each level is held `ahead`, for how many
-- milliseconds more (`ahead_ms`).
create or replace function gateway.hold(
  p_owner text, p_lease_ms integer, p_run_ids text[], p_ms integer[], p_are_exclusive boolean[], p_are_replacing boolean[],
  p_lines jsonb, p_keys text[], p_windows timestamptz[],
  p_of integer[], p_counters integer[], p_limits numeric[], p_needs numeric[]
) returns jsonb[] language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_outcomes jsonb[] := array_fill(null::jsonb, array[cardinality(p_run_ids)]);
  v_admitted integer[] := '{}';
  v_call record;
  v_thought text;
  v_gone gateway.holds;
  v_keys text[] := '{}';
  v_windows timestamptz[] := '{}';
  v_amounts numeric[] := '{}';
  v_counter record;
  v_total numeric;
  v_before numeric[] := array_fill(0::numeric, array[cardinality(p_keys)]);
  v_used numeric[];
  v_first integer := 1;
  v_last integer;
  v_refused integer;
begin
  -- A row of another process that is not committed yet can't be seen.
  perform pg_advisory_xact_lock(hashtextextended(c.run_id, c.m))
    from (select * from unnest(p_run_ids, p_ms) as u(run_id, m) order by 1, 2) as c;
  for v_call in
    select * from unnest(p_run_ids, p_ms) with ordinality as c(run_id, m, place) order by 1, 2
  loop
    select r.thought into v_thought from gateway.replies r where r.run_id = v_call.run_id and r.m = v_call.m;
    if found then
      v_outcomes[v_call.place] := jsonb_build_object('stored', v_thought);
      continue;
    end if;
    if p_are_exclusive[v_call.place] and not p_are_replacing[v_call.place] and exists (
      select from gateway.holds h where h.run_id = v_call.run_id and h.m = v_call.m and h.expires_at > clock_timestamp()
    ) then
      v_outcomes[v_call.place] := '{"in_use": true}';
      continue;
    end if;
    for v_gone in
      delete from gateway.holds h
        where h.run_id = v_call.run_id and h.m = v_call.m and h.owner in (p_owner, 'ahead') returning h.*
    loop
      v_keys := v_keys || v_gone.keys;
      v_windows := v_windows || v_gone.windows;
      v_amounts := v_amounts || v_gone.amounts;
    end loop;
  end loop;

  -- Each counter is locked, and has back what is held no more.
  for v_counter in
    select u.key, u.window_from, sum(u.amount) as amount, max(u.place) as place
      from (
        select key, window_from, 0::numeric, place from unnest(p_keys, p_windows) with ordinality as c(key, window_from, place)
        union all
        select key, window_from, amount, null from unnest(v_keys, v_windows, v_amounts) as o(key, window_from, amount)
      ) as u(key, window_from, amount, place)
      group by u.key, u.window_from order by u.key collate "C", u.window_from
  loop
    select c.held + c.spent into v_total from gateway.counters c
      where c.key = v_counter.key and c.window_from = v_counter.window_from for update;
    if not found then
      insert into gateway.counters as c (key, window_from) values (v_counter.key, v_counter.window_from)
        on conflict (key, window_from) do update set held = c.held returning c.held + c.spent into v_total;
    end if;
    if v_counter.amount <> 0 then
      update gateway.counters c set held = c.held - v_counter.amount
        where c.key = v_counter.key and c.window_from = v_counter.window_from;
    end if;
    if v_counter.place is not null then
      v_before[v_counter.place] := v_total - v_counter.amount;
    end if;
  end loop;
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
          select from gateway.holds h where h.run_id = p_run_ids[i] and h.m = p_ms[i] and h.owner <> p_owner),
        'ahead', array(
          select (
            select coalesce(sum(o.amount), 0) from gateway.holds h, unnest(h.keys, h.windows, h.amounts) as o(key, window_from, amount)
              where h.owner = 'ahead' and o.key = p_keys[p_counters[l]] and o.window_from = p_windows[p_counters[l]])::text
            from generate_series(v_first, v_last - 1) as l),
        'ahead_ms', (
          select ceil(extract(epoch from max(h.expires_at) - clock_timestamp()) * 1000) from gateway.holds h
            where h.owner = 'ahead' and h.keys && array(
              select p_keys[p_counters[l]] from generate_series(v_first, v_last - 1) as l)));
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
    for c in 1 .. cardinality(p_keys) loop
      continue when v_used[c] = v_before[c];
      update gateway.counters set held = held + v_used[c] - v_before[c]
        where key = p_keys[c] and window_from = p_windows[c];
    end loop;
  end if;
  return v_outcomes;
end $$;

-- Settles several calls, each once: keeps its thought, gives back what its owner held, counts what it took, writes the books;
-- all of them or none. For each the thought that was stored before, and then nothing is charged; else null. Without a thought
-- only money is settled. Levels come in one list, call by call (`p_of`); `p_covered` is what of a level comes out of the owner's
-- slice, null where the call was held by itself. `p_may_hold`: whether there may be a hold of the call's own.
create or replace function gateway.charge(
  p_run_ids text[], p_ms integer[], p_owners text[], p_may_hold boolean[], p_thoughts text[], p_entries jsonb,
  p_of integer[], p_keys text[], p_windows timestamptz[], p_taken numeric[], p_covered numeric[]
) returns text[] language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  v_charged integer[] := '{}';
  v_entries jsonb := '[]';
  v_lines uuid[];
  v_stored text[] := array_fill(null::text, array[cardinality(p_run_ids)]);
  v_call record;
  v_gone gateway.holds;
  v_keys text[] := '{}';
  v_windows timestamptz[] := '{}';
  v_held numeric[] := '{}';
  v_spent numeric[] := '{}';
  v_part record;
begin
  for v_call in
    select * from unnest(p_run_ids, p_ms, p_owners) with ordinality as c(run_id, m, owner, place) order by 1, 2, 3
  loop
    if p_may_hold[v_call.place] then
      for v_gone in
        delete from gateway.holds h
          where h.run_id = v_call.run_id and h.m = v_call.m and h.owner = v_call.owner returning h.*
      loop
        v_keys := v_keys || v_gone.keys;
        v_windows := v_windows || v_gone.windows;
        v_held := v_held || v_gone.amounts;
      end loop;
    end if;
    if p_thoughts[v_call.place] is not null then
      insert into gateway.replies (run_id, m, thought) values (v_call.run_id, v_call.m, p_thoughts[v_call.place])
        on conflict do nothing;
      if not found then
        v_stored[v_call.place] := (select r.thought from gateway.replies r where r.run_id = v_call.run_id and r.m = v_call.m);
        continue;
      end if;
    end if;
    v_charged := v_charged || v_call.place::integer;
    if p_entries -> (v_call.place::integer - 1) <> 'null' then
      v_entries := v_entries || (p_entries -> (v_call.place::integer - 1));
    end if;
  end loop;
  v_spent := array_fill(0::numeric, array[cardinality(v_keys)]);

  -- A line that is in the books already was charged when it was written.
  with written as (
    insert into gateway.ledger select * from jsonb_populate_recordset(null::gateway.ledger, v_entries)
      on conflict (call_id) do nothing returning call_id
  )
  select coalesce(array_agg(call_id), '{}') into v_lines from written;
  if cardinality(v_lines) < jsonb_array_length(v_entries) then
    v_charged := array(
      select i from unnest(v_charged) as i
        where p_entries -> (i - 1) = 'null' or (p_entries -> (i - 1) ->> 'call_id')::uuid = any(v_lines));
  end if;

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

-- Gives back what lapsed holds and slices had set aside, at most `p_max` of each, writes the lines of the holds, and tells how
-- many of them belonged to processes.
create or replace function gateway.sweep(p_max integer) returns integer language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
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
         (select count(*) from gone where gone.owner <> 'ahead') + (select count(*) from undone),
         (select array_agg(gone.line) from gone)
    into v_keys, v_windows, v_amounts, v_count, v_lines from change c;
  if v_keys is not null then
    perform gateway.shift(v_keys, v_windows, v_amounts, array_fill(0::numeric, array[cardinality(v_keys)]));
  end if;
  perform gateway.write_lost(v_lines);
  return v_count;
end $$;
