-- Data sources: files that the assistants use. They are processed by jobs of River, which migrates its own tables.

create table data_sources (
    id              uuid primary key, -- And the name of its file.
    organization_id uuid        not null,
    user_id         uuid        not null,
    filename        text        not null check (char_length(filename) between 1 and 255),
    media_type      text        not null,
    size            bigint      not null check (size > 0), -- Bytes.
    sha256          bytea       not null check (octet_length(sha256) = 32),
    status          text        not null default 'pending' check (status in ('pending', 'running', 'success', 'failed')),
    failure         text        not null default '', -- Why it could not be read, as a person understands it.
    page_count      integer     not null default 0,
    chunk_count     integer     not null default 0,
    readings        integer     not null default 0, -- How often it was begun to be read since it was uploaded.
    revision        integer     not null default 1, -- Counts the changes: a record with a higher one is newer.
    created_at      timestamptz not null default now(),
    unique (organization_id, id),
    unique (user_id, sha256),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index data_sources_newest on data_sources (user_id, created_at desc, id desc);

create table data_source_chunks (
    id              uuid primary key,
    organization_id uuid    not null,
    data_source_id  uuid    not null,
    ordinal         integer not null, -- From 0.
    page            integer not null, -- From 1.
    text            text    not null,
    unique (data_source_id, ordinal),
    foreign key (organization_id, data_source_id) references data_sources (organization_id, id) on delete cascade
);

-- Files without a data source: those being uploaded, and those of deleted ones. They are removed at their time, even if
-- the server that wrote them has died.
create table loose_files (
    id        uuid primary key,
    remove_at timestamptz not null default now()
);
create index loose_files_by_time on loose_files (remove_at);

create function loosen_file() returns trigger language plpgsql as $$
begin
    insert into loose_files (id) values (old.id) on conflict (id) do update set remove_at = now();
    return null;
end
$$;

create trigger data_sources_loosen after delete on data_sources for each row execute function loosen_file();
