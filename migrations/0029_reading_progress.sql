-- How far a reading is, and which one holds a data source: its revision counts every change that is told, progress included.
alter table data_sources
    add column reading bigint  not null default 0, -- Raised by whatever ends a reading, or begins one. A reading of a lower one stores nothing.
    add column stage   text    not null default '' check (stage in ('', 'reading', 'indexing', 'embedding')),
    add column done    integer not null default 0, -- Of total, 0 while that is unknown.
    add column total   integer not null default 0;

-- What a member's files, and those of all members, may have together, in bytes.
alter table contracts add column storage bigint not null default 1099511627776 check (storage >= 0);
