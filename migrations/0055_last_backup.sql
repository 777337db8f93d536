-- When the last successful backup ended. At most one row.
create table last_backup (
    id       integer     primary key default 1 check (id = 1),
    ended_at timestamptz not null
);
