-- Calls of tools, for the usage by tool. One row for each call, so that servers never wait for each other's counters.
create table tool_usage (
    message_id      uuid    not null, -- The answer, which may have been deleted since.
    ordinal         integer not null, -- Of the call in the answer.
    organization_id uuid    not null references organizations (id) on delete cascade,
    date            date    not null, -- In Japan.
    skill_id        uuid    not null, -- The skill may have been deleted since.
    tool            text    not null,
    title           text    not null, -- Of the tool, for people.
    failed          boolean not null,
    duration_ms     integer not null,
    primary key (message_id, ordinal)
);
create index tool_usage_by_date on tool_usage (organization_id, date);
