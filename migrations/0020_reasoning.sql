-- The model's reasoning before its answer, and its duration in milliseconds. It is shown beside the answer and never
-- sent to a model.
alter table messages
    add column reasoning text not null default '',
    add column reasoning_ms integer not null default 0 check (reasoning_ms >= 0);
