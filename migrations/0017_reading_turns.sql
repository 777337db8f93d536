-- Files are processed in turn per person, and a reading is leased: the table of data sources is the queue. The tables
-- of the earlier job queue are dropped.
alter table data_sources
    add column read_after timestamptz not null default now(), -- A pending one is not read before.
    add column read_until timestamptz,                        -- When the lease of the reading that runs ends, unless it is renewed.
    add column slow       boolean     not null default false; -- A reading of it has given way to others.
create index data_sources_to_read on data_sources (user_id, read_after) where status in ('pending', 'running');

-- When processing of a file of each person last began: the person who was served least recently is next.
create table reading_turns (
    user_id         uuid primary key,
    organization_id uuid        not null,
    begun_at        timestamptz not null,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);

create function tell_of_waiting() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_source', '');
    return null;
end
$$;

create trigger data_sources_tell_waiting after insert or update of status on data_sources
    for each row when (new.status = 'pending') execute function tell_of_waiting();

drop table if exists river_client_queue, river_client, river_leader, river_queue, river_job, river_migration cascade;
drop function if exists river_job_state_in_bitmask, river_job_notify cascade;
drop type if exists river_job_state cascade;
