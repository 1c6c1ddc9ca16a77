-- Making and dropping the tables of classes and weeks, and what bounds it: classes, legal holds, erasures.

-- What each app wants of its traces. The class counts for runs born from `since` on, so a run's class follows from its id.
create table traces.app_classes (
  app   text not null,
  since timestamptz not null,
  class text not null,
  primary key (app, since)
);

-- Runs that must not be dropped or erased: one run, or all of a user, or all of an app.
create table traces.holds (
  id      text primary key,
  app     text not null,
  run_id  text collate "C",
  user_id text,
  reason  text not null,
  by      text not null,
  at      timestamptz not null default now()
);

-- Erasures of users: whom (as a hash), how far, and what proves it. Never the user's name.
create table traces.erasures (
  id           text primary key,
  app          text not null,
  user_sha256  text not null,
  -- The user's id while the job runs; taken out when it is done.
  user_id      text,
  requested_by text not null,
  requested_at timestamptz not null default now(),
  finished_at  timestamptz,
  runs_erased  bigint not null default 0,
  records_erased bigint not null default 0,
  runs_held    bigint not null default 0,
  runs_active  bigint not null default 0,
  -- SHA-256 over the sorted ids of the erased runs, one a line, and what was found of them afterwards.
  proof        text
);

-- Runs that were erased: nothing of them is stored again, however often the log is read.
create table traces.erased_runs (
  app        text not null,
  run_id     text collate "C" not null,
  erasure_id text not null references traces.erasures (id),
  erased_at  timestamptz not null default now(),
  primary key (app, run_id)
);
create index holds_by_app on traces.holds (app);

-- Tables of a class and of a week in it, for each of the three parents. Bounds are run ids; the caller holds the lock.
create function traces.make_class(class text) returns void language plpgsql as $$
declare parent text;
begin
  foreach parent in array array['runs', 'records', 'contents'] loop
    if to_regclass(format('traces.%I', parent || '_' || class)) is null then
      execute format('create table traces.%I partition of traces.%I for values in (%L) partition by range (run_id)',
                     parent || '_' || class, parent, class);
    end if;
  end loop;
end
$$;

-- Attaching a finished table takes no lock that would stop readers or writers of its siblings.
create function traces.make_week(class text, week text, lower_id text, upper_id text) returns void language plpgsql as $$
declare parent text; leaf text;
begin
  foreach parent in array array['runs', 'records', 'contents'] loop
    leaf := parent || '_' || class || '_' || week;
    if to_regclass(format('traces.%I', leaf)) is null then
      execute format('create table traces.%I (like traces.%I including all)', leaf, parent || '_' || class);
      execute format('alter table traces.%I attach partition traces.%I for values from (%L) to (%L)',
                     parent || '_' || class, leaf, lower_id, upper_id);
    end if;
  end loop;
end
$$;

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
