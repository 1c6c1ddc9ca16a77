-- Keys of apps, by their hash; the key itself is shown once and kept nowhere.
create table gateway.keys (
  id text primary key,
  app text not null,
  hash text not null unique,
  scopes text[] not null,
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
