-- An index of the passages of projects, from which a search in a project takes its candidates; see docs/documents.md. Rows
-- refer to passages by the ordinal, and may refer to passages that no longer exist: a search reads the passages
-- themselves. keys are those of the tokens in the scope of the project.
create table project_passages (
    organization_id uuid    not null,
    project_id      uuid    not null,
    data_source_id  uuid    not null,
    ordinal         integer not null,
    length          integer not null, -- In tokens.
    keys            int4[]  not null,
    -- PostgreSQL stores a value out of line only in rows above 2 kB. The filler lengthens each row to that, and takes
    -- some 40 bytes itself, because it is compressed.
    filler          text    not null default repeat(' ', 2000)
) partition by hash (organization_id);
alter table project_passages alter column keys set storage external;
alter table project_passages alter column filler set storage main;

do $$
begin
    for i in 0..15 loop
        -- The keys are stored out of line, because a search reads the index and the other columns only.
        execute format('create table project_passages_%s partition of project_passages
            for values with (modulus 16, remainder %s) with (toast_tuple_target = 128)', i, i);
    end loop;
end
$$;

create index project_passages_by_source on project_passages (project_id, data_source_id);
-- A turn of the indexer adds its entries to the pending list and merges the list at its end, which takes a fraction of the
-- time of inserting each entry.
create index project_passages_keys on project_passages using gin (keys) with (gin_pending_list_limit = 65536);

-- The state of each project's index.
create table project_indexes (
    project_id      uuid primary key,
    organization_id uuid        not null,
    passages        bigint      not null default 0, -- Number of rows in project_passages,
    tokens          bigint      not null default 0, -- and the sum of their lengths.
    sampled         integer     not null default 0, -- Number of passages in the sample of project_index_keys,
    sampled_at      bigint      not null default 0, -- and the number of passages when it was taken.
    indexed_at      timestamptz not null default now() -- The last turn of the project.
);

-- The frequent keys of a project, in a sample of its passages.
create table project_index_keys (
    organization_id uuid    not null,
    project_id      uuid    not null,
    key             integer not null,
    passages        integer not null, -- Passages of the sample with the key.
    primary key (project_id, key)
);

-- The queue: data sources whose rows in project_passages must be written or removed.
create table project_index_changes (
    project_id      uuid    not null,
    data_source_id  uuid    not null,
    organization_id uuid    not null,
    reading         bigint  not null default -1, -- The reading that is being indexed.
    done            integer not null default 0,  -- Passages of it that are indexed.
    id              bigint  generated always as identity,
    primary key (project_id, data_source_id)
);

create function queue_project_changes(organization uuid, project uuid, source uuid) returns void language sql as $$
    insert into project_indexes (project_id, organization_id) values (project, organization) on conflict do nothing;
    insert into project_index_changes (project_id, data_source_id, organization_id) values (project, source, organization)
    on conflict (project_id, data_source_id) do update set reading = default, done = default;
    select pg_notify('tsumugi_source', '');
$$;

-- The lock waits for the end of a reading that does not know that the data source is in the project.
create function index_added_sources() returns trigger language plpgsql as $$
begin
    perform from data_sources where id in (select data_source_id from added) order by id for share;
    perform queue_project_changes(organization_id, project_id, data_source_id) from added;
    return null;
end
$$;

create function index_removed_sources() returns trigger language plpgsql as $$
begin
    perform queue_project_changes(organization_id, project_id, data_source_id) from removed;
    return null;
end
$$;

create function index_read_source() returns trigger language plpgsql as $$
begin
    perform queue_project_changes(organization_id, project_id, data_source_id)
    from project_sources
    where data_source_id = new.id;
    return null;
end
$$;

create trigger project_sources_index_added after insert on project_sources
    referencing new table as added for each statement execute function index_added_sources();
create trigger project_sources_index_removed after delete on project_sources
    referencing old table as removed for each statement execute function index_removed_sources();
create trigger data_sources_index_read after update of status on data_sources
    for each row when (new.status = 'success' and old.status <> 'success') execute function index_read_source();

select queue_project_changes(organization_id, project_id, data_source_id) from project_sources;
