-- Forgotten passwords, people of other identity providers, and the end of sessions ----------------------------------------

-- Users of their organization's identity provider have no password here.
alter table pool_users drop constraint pool_users_status_check;
alter table pool_users add constraint pool_users_status_check check (
    status in ('UNCONFIRMED', 'CONFIRMED', 'FORCE_CHANGE_PASSWORD', 'RESET_REQUIRED', 'EXTERNAL_PROVIDER'));

-- Codes for forgotten passwords, one per account: the next one replaces it. An unknown name, or one whose account
-- cannot get a new password, has a row as well, with a code that was never sent, so that they cannot be distinguished.
create table pool_codes (
    key        bytea primary key check (octet_length(key) = 32), -- As of pool_attempts.
    sub        uuid references pool_users (sub) on delete cascade, -- Null: nobody's.
    version    bigint      not null, -- The user's, when the code was made.
    code_hash  text        not null, -- PHC string format: a plain hash of six digits is no secret.
    tries      integer     not null default 0 check (tries >= 0),
    expires_at timestamptz not null
);
create index pool_codes_of_user on pool_codes (sub);
create index pool_codes_expiry on pool_codes (expires_at);

-- Every server listens, and closes the streams of a member whose session has ended.
create function tell_of_revoked_grant() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_user', u.id::text) from users u where u.subject = new.sub::text;
    return null;
end
$$;

create trigger pool_grants_tell after update of revoked_at on pool_grants
    for each row when (old.revoked_at is null and new.revoked_at is not null)
    execute function tell_of_revoked_grant();
