-- A snapshot of a thread that its owner shares with the organization. Complete messages do not change, so the ids of
-- the messages are the snapshot. It is deleted with its thread and with its owner.
create table shares (
    id              uuid        primary key, -- Random: whoever is shown one cannot guess another.
    organization_id uuid        not null,
    user_id         uuid        not null,
    thread_id       uuid        not null,
    title           text        not null,
    message_ids     uuid[]      not null, -- In the order in which they are read.
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(), -- When the snapshot was taken.
    unique (organization_id, thread_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade
);
create index shares_of_user on shares (organization_id, user_id);
