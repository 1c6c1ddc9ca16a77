-- Replies lose their text after a while: an empty one stays, so that a call that was settled is never made again.
create index replies_at on gateway.replies (at) where thought <> '';
