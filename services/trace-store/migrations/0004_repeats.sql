-- Spans that tell a call once more, which another span of the run tells: neither is counted twice.
alter table traces.records add column is_repeat boolean not null default false;
