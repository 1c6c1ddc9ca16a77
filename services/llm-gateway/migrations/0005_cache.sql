-- Answers that a route allows to be given again to the very same request.
create table gateway.cached_answers (
  key text primary key,
  app text not null,
  answer text not null,
  -- The line of the books of the call that gave it.
  line jsonb not null,
  expires_at timestamptz not null
);
create index cached_answers_expires_at on gateway.cached_answers (expires_at);
