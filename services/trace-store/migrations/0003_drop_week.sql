-- Whether a run is under legal hold: itself, its user, or its whole app.
create function traces.is_held(held_app text, held_run text, held_user text) returns boolean language sql stable as $$
  select exists (
    select from traces.holds
    where holds.app = held_app and (holds.run_id is null or holds.run_id = held_run)
      and (holds.user_id is null or holds.user_id = held_user))
$$;

-- Drops a week of a class: the whole tables, in one transaction. What is under hold is moved aside before.
-- Gives how many runs were moved. Locks readers out for a moment; the caller sets `lock_timeout` so that nobody queues up.
create function traces.drop_week(class text, week text) returns bigint language plpgsql as $$
declare parent text; columns text; runs_leaf text := 'runs_' || class || '_' || week; moved bigint := 0;
begin
  if to_regclass(format('traces.%I', runs_leaf)) is null then
    return 0;
  end if;
  -- In the order in which writers and readers take them, so that nobody waits in a circle.
  execute format('lock table traces.%I, traces.%I, traces.%I in access exclusive mode',
                 'runs_' || class, 'records_' || class, 'contents_' || class);
  create temporary table held_now (app text, run_id text collate "C") on commit drop;
  execute format('insert into held_now select app, run_id from traces.%I where traces.is_held(app, run_id, user_id)', runs_leaf);
  select count(*) into moved from held_now;
  foreach parent in array array['contents', 'records', 'runs'] loop
    if moved > 0 then
      select string_agg(quote_ident(attname), ', ') into columns from pg_attribute
      where attrelid = format('traces.%I', parent)::regclass and attnum > 0 and not attisdropped and attgenerated = ''
        and attname <> 'class';
      execute format('insert into traces.%I (class, %s) select ''held'', %s from traces.%I where (app, run_id) in (select app, run_id from held_now)',
                     parent || '_held', columns, columns, parent || '_' || class || '_' || week);
    end if;
    execute format('drop table traces.%I', parent || '_' || class || '_' || week);
  end loop;
  drop table held_now;
  return moved;
end
$$;

-- What was held and is not any more goes, up to a bound for each call. Gives how many runs went.
create function traces.drop_released(runs_max bigint) returns bigint language plpgsql as $$
declare dropped bigint;
begin
  create temporary table released_now on commit drop as
    select app, run_id from traces.runs_held where not traces.is_held(app, run_id, user_id) limit runs_max;
  delete from traces.contents_held where (app, run_id) in (select app, run_id from released_now);
  delete from traces.records_held where (app, run_id) in (select app, run_id from released_now);
  delete from traces.runs_held where (app, run_id) in (select app, run_id from released_now);
  get diagnostics dropped = row_count;
  drop table released_now;
  return dropped;
end
$$;

create index holds_by_app on traces.holds (app);
