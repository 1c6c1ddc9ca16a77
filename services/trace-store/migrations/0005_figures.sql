-- What runs cost, how long they took and why they stopped, by the hour in which they started; and so their tool calls. Figures
-- are counted from the rows of runs and records and never added to, so they depend on no order: what was counted and has
-- changed since is outdated, is read from the rows meanwhile, and is counted again.

-- A group of runs: those of an hour with one agent, source, stop reason and class of duration, or of all agents (`is_total`).
create table traces.run_figures (
  app            text not null,
  hour           timestamptz not null,
  is_total       boolean not null,
  agent          text,
  source         text,
  stop_reason    text,
  -- floor of the logarithm of microseconds to the base 1.1; null for runs that have not ended.
  duration_class bigint,
  runs           bigint not null,
  ended          bigint not null,
  tokens         numeric(40, 0) not null,
  cost_nano_usd  numeric(40, 0) not null,
  duration_us    numeric(40, 0) not null
);
create index run_figures_by_hour on traces.run_figures (app, is_total, hour);

-- The same of calls: `hour` is when their run started, `called_hour` when they were answered.
create table traces.tool_figures (
  app            text not null,
  hour           timestamptz not null,
  is_total       boolean not null,
  agent          text,
  source         text,
  tool           text not null,
  called_hour    timestamptz not null,
  duration_class bigint not null,
  calls          bigint not null,
  failures       bigint not null,
  denied         bigint not null,
  duration_us    numeric(40, 0) not null
);
create index tool_figures_by_hour on traces.tool_figures (app, is_total, hour);

-- The hours of an app that are counted: from, and up to but without. Those before are counted backwards, a few at a time.
create table traces.figure_ranges (
  app          text primary key,
  counted_from timestamptz not null,
  counted_to   timestamptz not null
);

-- Hours that have changed. Only added to by who writes runs, so that writers never wait for each other here.
create table traces.figures_outdated (
  app  text not null,
  hour timestamptz not null
);
create index figures_outdated_by_hour on traces.figures_outdated (app, hour);

-- Hours are counted once they are three hours old, so only changes in hours that are two hours old or older are noted.
-- A row without records is a run that is just being made.
create function traces.note_outdated() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.records > 0 then
    insert into traces.figures_outdated (app, hour) values (old.app, date_trunc('hour', old.listed_at, 'UTC'));
  end if;
  if tg_op <> 'DELETE' and new.records > 0 and (tg_op = 'INSERT' or old.records = 0
      or date_trunc('hour', old.listed_at, 'UTC') <> date_trunc('hour', new.listed_at, 'UTC')) then
    insert into traces.figures_outdated (app, hour) values (new.app, date_trunc('hour', new.listed_at, 'UTC'));
  end if;
  return null;
end
$$;
create trigger outdates_added after insert on traces.runs for each row
  when (new.records > 0 and new.listed_at < now() - interval '2 hours') execute function traces.note_outdated();
create trigger outdates_changed after update on traces.runs for each row
  when (new.listed_at < now() - interval '2 hours' or (old.records > 0 and old.listed_at < now() - interval '2 hours'))
  execute function traces.note_outdated();
create trigger outdates_removed after delete on traces.runs for each row
  when (old.records > 0 and old.listed_at < now() - interval '2 hours') execute function traces.note_outdated();

-- The tables of a week go without a word about each run: all hours around it are outdated.
create function traces.note_week_dropped(lower_at timestamptz, upper_at timestamptz) returns void language sql as $$
  insert into traces.figures_outdated (app, hour)
  select distinct app, hour from traces.run_figures
  where is_total and hour >= lower_at - interval '4 weeks' and hour < upper_at + interval '4 weeks'
$$;
