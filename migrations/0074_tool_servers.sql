-- Tool servers of organizations (Model Context Protocol), their tools, and the connections of people.
create table tool_servers (
    id              uuid primary key,
    organization_id uuid        not null references organizations (id) on delete cascade,
    key             text        not null check (char_length(key) between 1 and 24), -- The prefix of its tools' names.
    name            text        not null check (char_length(name) between 1 and 100),
    url             text        not null,
    auth            text        not null check (auth in ('none', 'header', 'oauth')),
    header_name     text        not null default '', -- With the auth 'header'.
    client_id       text        not null default '', -- With the auth 'oauth'.
    registered      boolean     not null default false, -- The client comes from dynamic registration.
    secret          text        not null default '', -- Sealed: the value of the header, or the client's secret.
    oauth           jsonb, -- The authorization server; null until it is discovered.
    enabled         boolean     not null default true,
    everyone        boolean     not null default true, -- False: only members of tool_server_groups may use it.
    checked_at      timestamptz, -- When its tools were last read, or this was tried.
    failure         text        not null default '', -- Why the last attempt failed, for people.
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    unique (organization_id, id),
    constraint tool_servers_key unique (organization_id, key)
);

create table tool_server_groups (
    organization_id uuid not null,
    server_id       uuid not null,
    group_id        uuid not null,
    primary key (server_id, group_id),
    foreign key (organization_id, server_id) references tool_servers (organization_id, id) on delete cascade,
    foreign key (organization_id, group_id) references member_groups (organization_id, id) on delete cascade
);
create index tool_server_groups_by_group on tool_server_groups (group_id);

-- Definitions are json, not jsonb, so that their schemas keep their canonical form.
create table tool_server_tools (
    organization_id uuid    not null,
    server_id       uuid    not null,
    name            text    not null, -- The name that models call: the server's key, "__" and the rest.
    remote          text    not null, -- The server's name for it.
    accepted        json    not null, -- The definition that an administrator has seen, or the first one.
    offered         json,             -- A different one of the server. Until it is accepted, the tool is not used.
    refused         text    not null default '', -- Why the server's definition cannot be used, for people.
    gone            boolean not null default false, -- The server does not have the tool any more.
    rule            text    not null check (rule in ('allow', 'ask', 'deny')),
    read_only       boolean not null default false, -- Marks of an administrator.
    idempotent      boolean not null default false,
    primary key (server_id, name),
    unique (server_id, remote),
    foreign key (organization_id, server_id) references tool_servers (organization_id, id) on delete cascade
);

create table tool_connections (
    organization_id uuid        not null,
    user_id         uuid        not null,
    server_id       uuid        not null,
    id              uuid        not null unique, -- Identifies the sealed tokens.
    tokens          text        not null, -- Sealed.
    connected_at    timestamptz not null default now(),
    primary key (server_id, user_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, server_id) references tool_servers (organization_id, id) on delete cascade
);
create index tool_connections_by_user on tool_connections (user_id);

-- Connections in progress in a browser.
create table tool_attempts (
    hash            bytea primary key, -- SHA-256 of the state.
    browser_hash    bytea       not null, -- SHA-256 of the browser's cookie.
    organization_id uuid        not null,
    user_id         uuid        not null,
    server_id       uuid        not null,
    verifier        text        not null, -- Of PKCE; useless without the code.
    expires_at      timestamptz not null,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, server_id) references tool_servers (organization_id, id) on delete cascade
);
create index tool_attempts_by_expiry on tool_attempts (expires_at);
create index tool_attempts_by_user on tool_attempts (user_id);
create index tool_attempts_by_server on tool_attempts (server_id);
