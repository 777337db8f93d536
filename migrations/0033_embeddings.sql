-- Vectors of passages. A data source that was read is embedded afterwards, for each model that a server uses; the rows of
-- different models never meet.

-- Text that was read does not change until it is read again: the number of the reading names it, whatever else of the data
-- source changes.
alter table data_source_indexes add column reading bigint not null default 0;
update data_source_indexes i
set reading = d.reading
from data_sources d
where d.id = i.data_source_id and d.revision = i.revision;
alter table data_source_indexes drop column revision;
alter table data_source_indexes alter column reading drop default;

create table embedding_models (
    id              integer generated always as identity primary key,
    name            text             not null, -- As the provider calls it.
    query_prefix    text             not null,
    passage_prefix  text             not null,
    dimensions      integer          not null default 0, -- 0 until there is a vector.
    weight          double precision not null default 0, -- What similarity is worth beside words; measured.
    measured        bigint           not null default 0, -- How many passages had vectors then.
    measuring_until timestamptz      not null default '-infinity',
    used_at         timestamptz      not null default now(),
    unique (name, query_prefix, passage_prefix)
);

-- How far a data source is embedded.
create table embeddings (
    data_source_id  uuid        not null,
    model_id        integer     not null references embedding_models (id) on delete cascade,
    organization_id uuid        not null,
    done            integer     not null default 0, -- Passages that have a vector: the first ones.
    turn            bigint      not null default 1, -- Raised by whoever goes on with it. One of an older turn stores nothing.
    failures        integer     not null default 0,
    not_before      timestamptz not null,           -- The lease of the server that embeds it, or the end of a pause.
    primary key (data_source_id, model_id),
    foreign key (organization_id, data_source_id) references data_sources (organization_id, id) on delete cascade
);
create index embeddings_by_model on embeddings (model_id);

create table embedding_vectors (
    data_source_id  uuid    not null,
    model_id        integer not null,
    ordinal         integer not null, -- Of the passage.
    organization_id uuid    not null,
    vector          bytea   not null, -- float32, little endian, of unit length.
    primary key (data_source_id, model_id, ordinal),
    foreign key (data_source_id, model_id) references embeddings (data_source_id, model_id) on delete cascade
) with (toast_tuple_target = 8160);
alter table embedding_vectors alter column vector set storage external;
