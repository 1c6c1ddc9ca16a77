-- Which shares of a budget's window have been reached and told, each once.
create table gateway.thresholds (
  key text collate "C" not null,
  window_from timestamptz not null,
  percent integer not null,
  at timestamptz not null default now(),
  primary key (key, window_from, percent)
);
