-- Where people put a thread: at the top of their list, or out of it.
alter table threads
    add column pinned   boolean not null default false,
    add column archived boolean not null default false;

create index threads_listed on threads (user_id, archived, pinned desc, touched_at desc, id desc);
drop index threads_by_touch;
