-- Second factors of the embedded user pool, and the organizations' rules for them.
alter table organizations
    -- Which members must have a second factor to sign in with a password.
    add column factor_policy text not null default 'optional'
        check (factor_policy in ('optional', 'administrators', 'everybody'));

-- Requests to reset the second factor of a super-admin, which another administrator must confirm.
create table factor_resets (
    organization_id uuid        not null,
    user_id         uuid primary key,
    requested_by    uuid        not null,
    requested_at    timestamptz not null,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, requested_by) references users (organization_id, id) on delete cascade
);
create index factor_resets_by_requester on factor_resets (requested_by);

-- The provider must remove the second factor of the account.
alter table account_changes add column factor boolean not null default false;

alter table pool_challenges
    drop constraint pool_challenges_name_check,
    add constraint pool_challenges_name_check check (
        name in ('NEW_PASSWORD_REQUIRED', 'SOFTWARE_TOKEN_MFA', 'MFA_SETUP'));

-- The authenticator app of a user: RFC 6238 with SHA-1, 6 digits and 30 seconds.
create table pool_totp (
    sub     uuid primary key references pool_users (sub) on delete cascade,
    secret  text    not null default '', -- Base32, encrypted. Empty: no secret has been verified.
    pending text    not null default '', -- Base32, encrypted. A new secret, until its first code. Empty: none.
    enabled boolean not null default false check (not enabled or secret <> ''), -- Sign-ins require a code.
    step    bigint  not null default 0 -- The time step of the last accepted code.
);

-- Unused recovery codes, each of which replaces one code of the app.
create table pool_recovery_codes (
    sub  uuid  not null references pool_users (sub) on delete cascade,
    hash bytea not null check (octet_length(hash) = 32), -- SHA-256.
    primary key (sub, hash)
);
