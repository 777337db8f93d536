-- The data sources of threads, and the calls that attached them, which may be repeated.

create table thread_data_sources (
    organization_id uuid        not null,
    thread_id       uuid        not null,
    data_source_id  uuid        not null,
    attached_at     timestamptz not null default clock_timestamp(),
    primary key (thread_id, data_source_id),
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade,
    foreign key (organization_id, data_source_id) references data_sources (organization_id, id) on delete cascade
);
create index thread_data_sources_by_source on thread_data_sources (data_source_id);

create table preparations (
    id              uuid primary key,
    organization_id uuid   not null,
    user_id         uuid   not null,
    request_id      uuid   not null,
    thread_id       uuid   not null,
    data_source_ids uuid[] not null,
    unique (user_id, request_id),
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade
);
create index preparations_by_thread on preparations (thread_id);
