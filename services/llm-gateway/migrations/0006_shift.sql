-- Counts on counters that nothing has touched yet, too: a correction may be the first that a budget sees of a window.
create or replace function gateway.shift(p_keys text[], p_windows timestamptz[], p_held numeric[], p_spent numeric[])
returns void language plpgsql as $$
begin
  insert into gateway.counters (key, window_from)
    select distinct key, window_from from unnest(p_keys, p_windows) as u(key, window_from) order by 1, 2
    on conflict do nothing;
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
