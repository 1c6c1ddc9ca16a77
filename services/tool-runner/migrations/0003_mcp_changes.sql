-- When an app accepted another definition in the place of an earlier one; null while the first one stands.
-- What was decided before, such as an approval that waits, was decided about something else.
alter table tools.mcp_definitions add column changed_at timestamptz;
