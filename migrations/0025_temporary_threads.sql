-- Temporary threads: in no list and not searched, and deleted once they expire.
alter table threads add column expires_at timestamptz;
create index threads_by_expiry on threads (expires_at) where expires_at is not null;

drop trigger threads_index_new_title on threads;
create trigger threads_index_new_title after insert on threads
    for each row when (new.title <> '' and new.expires_at is null) execute function index_title();
drop trigger threads_index_title on threads;
create trigger threads_index_title after update of title on threads
    for each row when (old.title is distinct from new.title and new.expires_at is null) execute function index_title();

create or replace function index_message() returns trigger language plpgsql as $$
begin
    insert into search_pending (organization_id, user_id, thread_id, message_id)
    select t.organization_id, t.user_id, t.id, new.id
    from threads t
    where t.id = new.thread_id and t.organization_id = new.organization_id and t.expires_at is null
    on conflict do nothing;
    return null;
end
$$;
