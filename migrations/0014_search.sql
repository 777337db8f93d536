-- Search in titles and messages ---------------------------------------------------------------------------------------

-- The searchable texts: a title, or a complete message. keys are those of package ngram in the person's own scope; they
-- are stored out of line, because a search reads the index and the ids only.
create table search_entries (
    organization_id uuid   not null,
    user_id         uuid   not null,
    thread_id       uuid   not null,
    message_id      uuid, -- Null: the thread's title.
    keys            int4[] not null,
    unique nulls not distinct (thread_id, message_id),
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade
) with (toast_tuple_target = 128);
alter table search_entries alter column keys set storage external;
-- Without fastupdate: a search would read the whole list of pending entries, and now and then an insert would have to
-- flush it.
create index search_entries_keys on search_entries using gin (keys) with (fastupdate = off);

-- The queue of texts that are not indexed yet, or have changed since; see store/search.go.
create table search_pending (
    id              bigint generated always as identity primary key,
    organization_id uuid not null,
    user_id         uuid not null,
    thread_id       uuid not null,
    message_id      uuid,
    unique nulls not distinct (thread_id, message_id),
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade
);
create index search_pending_by_user on search_pending (user_id);

create function index_title() returns trigger language plpgsql as $$
begin
    insert into search_pending (organization_id, user_id, thread_id)
    values (new.organization_id, new.user_id, new.id)
    on conflict do nothing;
    return null;
end
$$;

create trigger threads_index_new_title after insert on threads
    for each row when (new.title <> '') execute function index_title();
create trigger threads_index_title after update of title on threads
    for each row when (old.title is distinct from new.title) execute function index_title();

create function index_message() returns trigger language plpgsql as $$
begin
    insert into search_pending (organization_id, user_id, thread_id, message_id)
    select t.organization_id, t.user_id, t.id, new.id
    from threads t
    where t.id = new.thread_id and t.organization_id = new.organization_id
    on conflict do nothing;
    return null;
end
$$;

create trigger messages_index_new after insert on messages
    for each row when (new.completed_at is not null and new.content <> '') execute function index_message();
create trigger messages_index after update of content, completed_at on messages
    for each row when (new.completed_at is not null and new.content <> ''
        and (old.completed_at is null or old.content is distinct from new.content)) execute function index_message();

insert into search_pending (organization_id, user_id, thread_id)
select organization_id, user_id, id from threads where title <> '';
insert into search_pending (organization_id, user_id, thread_id, message_id)
select t.organization_id, t.user_id, t.id, m.id
from messages m
join threads t on t.id = m.thread_id
where m.completed_at is not null and m.content <> '';
