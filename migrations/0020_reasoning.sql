-- What a model has thought before its answer, and for how many milliseconds. It is shown beside the answer and never told to
-- a model again.
alter table messages
    add column reasoning text not null default '',
    add column reasoning_ms integer not null default 0 check (reasoning_ms >= 0);
