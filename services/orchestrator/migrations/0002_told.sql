-- Which wait of the run its app's webhook has taken last, so that a replica that takes over tells what was not told yet, and only that.
alter table runs.runs add column told_waiting text;
