-- Approval of calls of tools. A call can wait for a decision, and is approved or denied by it.
alter table tool_calls
    drop constraint tool_calls_state_check,
    add constraint tool_calls_state_check
        check (state in ('running', 'success', 'failed', 'waiting', 'approved', 'denied'));

-- The server that waits for decisions about the answer. Meanwhile server_id is the id zero. The row of this id in
-- servers never expires, so that no server takes the answer over, not even one of an earlier version. A decision makes
-- the answer that of the waiting server again; if that server has failed since, the answer is taken over.
alter table generations add column waiting_server_id uuid;

-- The requests for decisions. A row is kept until its message is deleted, so that a repeated decision has the same
-- result. A call whose result is unknown after a failure has another row.
create table tool_approvals (
    id               uuid        primary key,
    organization_id  uuid        not null,
    user_id          uuid        not null, -- Decides: the person whose question it is. May be removed before the expiry.
    thread_id        uuid        not null,
    message_id       uuid        not null references generations (message_id) on delete cascade,
    call_id          text        not null,
    tool             text        not null,
    title            text        not null, -- Of the tool, for people.
    cause            text        not null check (cause in ('rule', 'untrusted', 'unknown')),
    arguments_sha256 bytea       not null check (octet_length(arguments_sha256) = 32),
    created_at       timestamptz not null default now(),
    expires_at       timestamptz not null,
    decision         text        check (decision in ('approved', 'denied', 'expired', 'canceled')),
    decided_at       timestamptz,
    decided_by       uuid,
    decided_sha256   bytea       check (octet_length(decided_sha256) = 32), -- Of the approved arguments.
    reason           text        not null default '',
    request_id       uuid, -- Of the decision, chosen by the client.
    request_hash     bytea       check (octet_length(request_hash) = 32),
    check ((decision is null) = (decided_at is null))
);
create index generations_waiting on generations (waiting_server_id) where waiting_server_id is not null;
create index tool_approvals_by_message on tool_approvals (message_id);
create index tool_approvals_waiting on tool_approvals (user_id, created_at) where decision is null;
create index tool_approvals_expiring on tool_approvals (expires_at) where decision is null;

-- Tools that a person has approved for the rest of a thread.
create table tool_permissions (
    organization_id uuid        not null,
    thread_id       uuid        not null,
    user_id         uuid        not null,
    tool            text        not null,
    created_at      timestamptz not null default now(),
    primary key (thread_id, user_id, tool),
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index tool_permissions_by_user on tool_permissions (user_id);
