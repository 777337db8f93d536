-- Passkeys and trusted devices of the embedded user pool.
create table pool_passkeys (
    id              bytea primary key check (octet_length(id) between 1 and 1023), -- The authenticator's credential id.
    sub             uuid        not null references pool_users (sub) on delete cascade,
    name            text        not null check (name <> ''), -- Given by the user.
    public_key      bytea       not null check (octet_length(public_key) <= 4096), -- COSE_Key (RFC 9052).
    sign_count      bigint      not null, -- The authenticator's signature counter. 0: it has none.
    backup_eligible boolean     not null, -- The authenticator may copy the key to other devices.
    created_at      timestamptz not null,
    last_used_at    timestamptz
);
create index pool_passkeys_of_user on pool_passkeys (sub);

-- A sign-in with a passkey begins without a user: the passkey identifies them.
alter table pool_challenges
    alter column sub drop not null,
    drop constraint pool_challenges_name_check,
    add constraint pool_challenges_name_check check (
        name in ('NEW_PASSWORD_REQUIRED', 'SOFTWARE_TOKEN_MFA', 'MFA_SETUP', 'WEB_AUTHN', 'WEB_AUTHN_REGISTRATION')),
    add constraint pool_challenges_sub_check check (sub is not null or name = 'WEB_AUTHN');

alter table pool_devices
    -- Sign-ins on the device need no second factor for some time after trusted_at, until the user's version changes.
    add column trusted_at      timestamptz,
    add column trusted_version bigint,
    add column agent           text not null default ''; -- The name of a trusted device.
