-- Conversations that live elsewhere (package channel): what happens there, whose threads they are, and how far answers are
-- delivered. Rows of an installation go with it.

create table channel_events (
    installation_id uuid        not null,
    organization_id uuid        not null,
    event_id        text        not null check (event_id <> ''),
    seq             bigint      generated always as identity,
    channel         text        not null,
    message         text        not null, -- Of a question, as long as it is not handled. Empty otherwise.
    lane            text        not null, -- Events of a lane are handled one after another. Empty: at any time.
    payload         jsonb, -- Null once it is handled: no text is kept longer than needed.
    done            jsonb       not null default '{}',
    attempts        integer     not null default 0,
    due_at          timestamptz not null default now(),
    claim           uuid, -- Of the server that handles it,
    claimed_until   timestamptz, -- and its end.
    received_at     timestamptz not null default now(),
    ended_at        timestamptz,
    primary key (installation_id, event_id),
    check ((ended_at is null) = (payload is not null)),
    check ((claim is null) = (claimed_until is null)),
    foreign key (organization_id, installation_id) references channel_installations (organization_id, id) on delete cascade
);
create index channel_events_due on channel_events (due_at, seq) where ended_at is null;
create index channel_events_lane on channel_events (installation_id, lane, seq) where ended_at is null and lane <> '';
create index channel_events_ended on channel_events (ended_at) where ended_at is not null;

-- Each person has a thread of their own within a thread elsewhere.
create table channel_threads (
    installation_id uuid        not null,
    organization_id uuid        not null,
    channel         text        not null,
    thread          text        not null,
    user_id         uuid        not null,
    thread_id       uuid        not null,
    created_at      timestamptz not null default now(),
    primary key (installation_id, channel, thread, user_id),
    foreign key (organization_id, installation_id) references channel_installations (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade
);
create index channel_threads_of_thread on channel_threads (organization_id, thread_id);
create index channel_threads_of_user on channel_threads (organization_id, user_id);

create table channel_deliveries (
    answer_id       uuid primary key,
    organization_id uuid        not null,
    user_id         uuid        not null,
    thread_id       uuid        not null,
    question_id     uuid        not null,
    installation_id uuid        not null,
    channel         text        not null,
    thread          text        not null,
    message         text        not null, -- The question's; empty if there is none.
    person          text        not null,
    person_team     text        not null,
    direct          boolean     not null,
    progress        jsonb       not null default '{}',
    claim           uuid,
    claimed_until   timestamptz, -- Until then no other server claims it. Of an unclaimed one: it waits.
    created_at      timestamptz not null default now(),
    ended_at        timestamptz,
    foreign key (organization_id, installation_id) references channel_installations (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, answer_id) references messages (organization_id, id) on delete cascade,
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade
);
create index channel_deliveries_open on channel_deliveries (claimed_until) where ended_at is null;
create index channel_deliveries_of_message on channel_deliveries (installation_id, channel, message);
create index channel_deliveries_of_thread on channel_deliveries (installation_id, channel, thread, created_at);
create index channel_deliveries_of_user on channel_deliveries (organization_id, user_id);
create index channel_deliveries_of_conversation on channel_deliveries (organization_id, thread_id);

-- Files of a surface that a member has as data sources.
create table channel_files (
    installation_id uuid not null,
    organization_id uuid not null,
    user_id         uuid not null,
    file_id         text not null,
    data_source_id  uuid not null,
    primary key (installation_id, user_id, file_id),
    foreign key (organization_id, installation_id) references channel_installations (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, data_source_id) references data_sources (organization_id, id) on delete cascade
);
create index channel_files_of_source on channel_files (organization_id, data_source_id);
create index channel_files_of_user on channel_files (organization_id, user_id);

-- Which servers hold one of the places of a name: the sockets of an installation.
create table channel_holds (
    name       text        not null,
    place      integer     not null,
    holder     uuid        not null,
    held_until timestamptz not null,
    primary key (name, place),
    unique (name, holder)
);

create function tell_of_channel() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_channel', '');
    return null;
end
$$;
create trigger channel_events_tell after insert on channel_events
    for each statement execute function tell_of_channel();
