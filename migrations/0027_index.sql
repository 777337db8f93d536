-- Passages have their position in the page, and their index is stored beside them, packed: see docs/documents.md.
alter table data_source_chunks
    add column start_byte integer not null default 0, -- In the page's text.
    add column end_byte   integer not null default 0,
    add column locator    text    not null default '';
alter table data_source_chunks add unique (organization_id, id);

create table data_source_indexes (
    data_source_id  uuid primary key,
    organization_id uuid     not null,
    revision        integer  not null, -- Of the data source when it was read. Servers keep what they know of it under this.
    version         smallint not null, -- Of the packed form.
    head            bytea    not null,
    foreign key (organization_id, data_source_id) references data_sources (organization_id, id) on delete cascade
);
alter table data_source_indexes alter column head set storage external;

-- A query reads a few parts of each index: they are stored in their row if they fit.
create table data_source_index_parts (
    data_source_id  uuid    not null,
    part            integer not null,
    organization_id uuid    not null,
    packed          bytea   not null,
    primary key (data_source_id, part),
    foreign key (data_source_id) references data_source_indexes (data_source_id) on delete cascade
) with (toast_tuple_target = 8160);
alter table data_source_index_parts alter column packed set storage external;

-- Earlier data sources are processed again, into searchable passages.
delete from data_source_chunks;
update data_sources
set status = 'pending', failure = '', readings = 0, slow = false, read_after = now(), revision = revision + 1, page_count = 0, chunk_count = 0
where status = 'success';
