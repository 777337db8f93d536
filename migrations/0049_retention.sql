-- Threads are deleted once their organization's number of days has passed since they were last touched, and their owner
-- was told of it at least 14 days before.
alter table organizations
    add column retention_days  integer check (retention_days between 30 and 3650), -- Null: threads are kept.
    add column retention_since timestamptz; -- When the setting was last changed. What was told before does not count.

alter table threads add column told_at timestamptz; -- When its owner was told that it will be deleted.

-- Whoever touches or pins a thread keeps it: they are told again before it is deleted.
create function keep_thread() returns trigger language plpgsql as $$
begin
    new.told_at = null;
    return new;
end
$$;

create trigger threads_keep before update of touched_at, pinned on threads
    for each row when (old.told_at is not null and (new.pinned or new.touched_at <> old.touched_at))
    execute function keep_thread();

create index threads_to_tell on threads (organization_id, touched_at)
    where told_at is null and not pinned and expires_at is null;
create index threads_told on threads (organization_id, told_at) where told_at is not null;
