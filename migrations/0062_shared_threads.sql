-- The author of a question in a shared thread. Null: the member was removed. Not set in private threads, whose questions
-- are all their owner's.
alter table messages
    add column author_id uuid,
    add constraint messages_author foreign key (organization_id, author_id)
        references users (organization_id, id) on delete set null (author_id);
create index messages_by_author on messages (author_id) where author_id is not null;

-- The thread is in a project, or was. Its answers may cite files of the project, which its readers may not always open.
alter table threads add column cites_project boolean not null default false;

create function mark_project_thread() returns trigger language plpgsql as $$
begin
    new.cites_project := true;
    return new;
end
$$;

create trigger threads_mark_project before insert or update of project_id on threads
    for each row when (new.project_id is not null) execute function mark_project_thread();

-- Questions that were asked in a shared thread while it was busy, in the order of their ids' places. The question of a
-- row becomes a message when its answer begins.
create table waiting_questions (
    id              uuid primary key, -- Of the message.
    organization_id uuid        not null,
    thread_id       uuid        not null,
    user_id         uuid        not null, -- The author.
    place           bigint generated always as identity,
    request_id      uuid        not null,
    request_hash    bytea       not null check (octet_length(request_hash) = 32),
    content         text        not null, -- As shown in the thread.
    question        jsonb       not null check (jsonb_typeof(question) = 'object'),
    created_at      timestamptz not null default now(),
    unique (user_id, request_id),
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index waiting_questions_of_thread on waiting_questions (thread_id, place);
