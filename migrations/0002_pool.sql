-- The embedded user pool (package identity/pool): users and their credentials, independent of organizations -----------

create table pool_keys (
    id          text primary key check (id <> ''),
    private_key text        not null check (private_key <> ''), -- PKCS #8 in PEM.
    created_at  timestamptz not null,
    active_from timestamptz not null,
    retire_at   timestamptz check (retire_at >= active_from) -- Null: in use, or the next one.
);

create table pool_users (
    sub             uuid primary key,
    email           text        not null unique check (email = lower(email) and char_length(email) between 3 and 254),
    email_verified  boolean     not null default false,
    name            text        not null check (char_length(name) between 1 and 100),
    groups          text[]      not null default '{}',
    status          text        not null check (status in ('UNCONFIRMED', 'CONFIRMED', 'FORCE_CHANGE_PASSWORD', 'RESET_REQUIRED')),
    enabled         boolean     not null default true,
    password_hash   text        not null default '', -- PHC string format. Empty: no password.
    temporary_until timestamptz,
    version         bigint      not null default 1, -- Grows whenever what proves the user changes.
    created_at      timestamptz not null,
    updated_at      timestamptz not null,
    check ((status = 'FORCE_CHANGE_PASSWORD') = (temporary_until is not null))
);

-- A sign-in that waits for the user's response. Used ones stay until they expire, so that a second use is noticed.
create table pool_challenges (
    hash       bytea primary key check (octet_length(hash) = 32), -- SHA-256 of the session that the client holds.
    name       text        not null check (name in ('NEW_PASSWORD_REQUIRED')),
    sub        uuid        not null references pool_users (sub) on delete cascade,
    client_id  text        not null,
    version    bigint      not null, -- The user's, when the challenge was set.
    expires_at timestamptz not null,
    used_at    timestamptz
);
create index pool_challenges_of_user on pool_challenges (sub);
create index pool_challenges_expiry on pool_challenges (expires_at);

-- One sign-in on one device. Ended ones stay until they expire, so that their access tokens are known as revoked.
create table pool_grants (
    id         uuid primary key, -- The claim origin_jti.
    token_hash bytea       not null unique check (octet_length(token_hash) = 32), -- SHA-256 of the refresh token.
    sub        uuid        not null references pool_users (sub) on delete cascade,
    client_id  text        not null,
    event_id   uuid        not null,
    auth_time  timestamptz not null,
    expires_at timestamptz not null check (expires_at > auth_time),
    revoked_at timestamptz
);
create index pool_grants_of_user on pool_grants (sub);
create index pool_grants_expiry on pool_grants (expires_at);

-- Consecutive wrong passwords, for existing accounts and for unknown names, so that they cannot be distinguished. The
-- key is a hash, so that typed names are not stored.
create table pool_attempts (
    key          bytea primary key check (octet_length(key) = 32),
    failures     integer     not null default 0 check (failures >= 0),
    locked_until timestamptz,
    forgotten_at timestamptz
);
create index pool_attempts_expiry on pool_attempts (forgotten_at);
