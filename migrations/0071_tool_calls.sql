-- Calls of tools by the assistant.
alter table skills add column tools text[] not null default '{}'; -- The names of the skill's tools.

-- The calls of a complete answer, as JSON of chat.ToolCall, or null for none.
alter table messages add column tool_calls jsonb;

-- The calls of running answers. A call is stored before it is made, so that a server that takes over the answer neither
-- repeats a complete call nor forgets one. The rows of an answer are deleted at its end.
create table tool_calls (
    message_id       uuid    not null references generations (message_id) on delete cascade,
    round            integer not null check (round >= 0), -- Calls of one round were requested together.
    ordinal          integer not null check (ordinal >= 0), -- Within the round.
    run              integer not null, -- The last run that has the call in its text.
    call_id          text    not null, -- Unique within the answer.
    tool             text    not null,
    arguments_sha256 bytea   not null check (octet_length(arguments_sha256) = 32),
    state            text    not null check (state in ('running', 'success', 'failed')),
    call             jsonb   not null, -- As JSON of chat.ToolCall.
    text             text    not null default '', -- In the first call: the answer's text since the previous round.
    reasoning        text    not null default '', -- In the first call: the model's reasoning in the round.
    sources          uuid[]  not null default '{}', -- In the first call: the sources of the answer.
    primary key (message_id, round, ordinal)
);
