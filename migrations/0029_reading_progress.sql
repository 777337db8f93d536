-- The progress of a reading, and the reading that holds a data source: its revision counts every published change,
-- progress included.
alter table data_sources
    add column reading bigint  not null default 0, -- Raised by whatever ends a reading, or begins one. A reading of a lower one stores nothing.
    add column stage   text    not null default '' check (stage in ('', 'reading', 'indexing', 'embedding')),
    add column done    integer not null default 0, -- Of total, 0 while that is unknown.
    add column total   integer not null default 0;

-- The storage limits of a member's files, and of all members' files, in bytes.
alter table contracts add column storage bigint not null default 1099511627776 check (storage >= 0);
