-- Sessions: one sign-in on one device, by whichever provider ------------------------------------------------------------------

create table sessions (
    id              uuid primary key, -- The claim origin_jti.
    organization_id uuid        not null,
    user_id         uuid        not null,
    auth_type       text        not null check (auth_type in ('cognito', 'federated_idp')),
    began_at        timestamptz not null,
    used_at         timestamptz not null, -- Within a minute.
    user_agent      text        not null,
    address         inet,
    ended_at        timestamptz,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index sessions_of_user on sessions (organization_id, user_id);
create index sessions_by_use on sessions (used_at) where ended_at is null;

-- How long sessions last, in minutes: without being used, and at most.
alter table organizations
    add column sso_idle_minutes      integer not null default 480,
    add column sso_max_minutes       integer not null default 10080,
    add column password_idle_minutes integer not null default 43200,
    add column password_max_minutes  integer not null default 43200,
    add constraint organizations_sso_sessions check (
        sso_idle_minutes between 5 and sso_max_minutes and sso_max_minutes between 60 and 43200),
    add constraint organizations_password_sessions check (
        password_idle_minutes between 5 and password_max_minutes and password_max_minutes between 60 and 43200);

-- Sessions that began before this time are over.
alter table users add column sessions_since timestamptz;

create trigger users_note_sessions before update of sessions_since on users
    for each row when (old.sessions_since is distinct from new.sessions_since) execute function note_change();

create trigger users_tell_sessions after update of sessions_since on users
    for each row when (old.sessions_since is distinct from new.sessions_since) execute function tell_of_user();

create function tell_of_ended_session() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_user', new.user_id::text);
    return null;
end
$$;

create trigger sessions_tell after update of ended_at on sessions
    for each row when (old.ended_at is null and new.ended_at is not null) execute function tell_of_ended_session();

-- The end of the session according to the identity provider. Null if it names none.
alter table saml_codes add column session_until timestamptz;
alter table saml_links add column session_until timestamptz;
