-- Whether a thread is pinned to the top of its owner's list, or archived.
alter table threads
    add column pinned   boolean not null default false,
    add column archived boolean not null default false;

create index threads_listed on threads (user_id, archived, pinned desc, touched_at desc, id desc);
drop index threads_by_touch;
