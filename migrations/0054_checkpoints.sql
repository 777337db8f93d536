-- The texts of running answers. A server that takes over a generation continues its text. The rows of an answer are
-- consecutive pieces of one run's text; they are deleted at its end.
create table checkpoints (
    message_id uuid    not null references generations (message_id) on delete cascade,
    start      integer not null check (start >= 0), -- In bytes of UTF-8.
    run        integer not null,
    text       text    not null check (text <> ''),
    sources    uuid[]  not null default '{}', -- The sources of the answer, in the first piece.
    primary key (message_id, start)
);

-- The ends of the texts of earlier runs that run continued_run continues, as event ids.
alter table generations add column continued jsonb, add column continued_run integer;
