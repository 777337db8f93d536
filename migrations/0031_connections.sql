-- Connections: sessions of clients other than the app (package identity/connection), and personal access tokens. They are
-- sessions, so whatever ends or limits a session holds for them.
alter table sessions
    add column client_id  text        not null default '', -- Empty: the app. personal: a personal access token.
    add column name       text        not null default '', -- Of a personal access token.
    add column scopes     text[]      not null default '{}',
    add column expires_at timestamptz, -- Of a personal access token, instead of the organization's limits. Null: none.
    add constraint sessions_client check (
        (client_id = '') = (scopes = '{}') and (client_id = 'personal') = (name <> '')
        and (client_id = 'personal' or expires_at is null));
create index sessions_of_clients on sessions (organization_id, used_at desc, id) where client_id <> '' and ended_at is null;

-- Used refresh tokens stay until they expire, so that a second use is noticed.
create table connection_tokens (
    hash       bytea primary key check (octet_length(hash) = 32), -- SHA-256.
    session_id uuid        not null references sessions (id) on delete cascade,
    kind       text        not null check (kind in ('access', 'refresh', 'personal')),
    expires_at timestamptz not null,
    used_at    timestamptz -- When a refresh token was exchanged.
);
create index connection_tokens_of_session on connection_tokens (session_id);
create index connection_tokens_expiry on connection_tokens (expires_at);

-- Authorization codes and device codes. Used ones stay for a while, so that a second use is noticed.
create table connection_grants (
    hash            bytea primary key check (octet_length(hash) = 32), -- SHA-256 of the code that the client holds.
    user_code_hash  bytea unique check (octet_length(user_code_hash) = 32), -- Of a device.
    client_id       text        not null check (client_id <> ''),
    scopes          text[]      not null,
    redirect_uri    text        not null default '', -- Of an authorization code, as is challenge.
    challenge       text        not null default '',
    address         inet, -- Of a device that asks, as is user_agent.
    user_agent      text        not null default '',
    organization_id uuid, -- Null until a person has answered.
    user_id         uuid,
    auth_type       text check (auth_type in ('cognito', 'federated_idp')),
    answered_at     timestamptz,
    denied          boolean     not null default false,
    created_at      timestamptz not null,
    expires_at      timestamptz not null,
    polled_at       timestamptz, -- By a device, which must wait for the interval, in seconds.
    poll_interval   integer     not null default 5,
    used_at         timestamptz,
    session_id      uuid references sessions (id) on delete cascade, -- What it was exchanged for.
    check ((answered_at is null) = (user_id is null)),
    check (user_code_hash is not null or user_id is not null),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index connection_grants_of_user on connection_grants (organization_id, user_id);
create index connection_grants_of_session on connection_grants (session_id);
create index connection_grants_expiry on connection_grants (expires_at);

-- Whether members may make personal access tokens.
alter table organizations add column personal_tokens boolean not null default true;
