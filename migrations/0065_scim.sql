-- Provisioning of members and groups by an organization's identity provider (package scim).

-- The tokens of identity providers.
create table scim_tokens (
    id              uuid primary key,
    organization_id uuid        not null references organizations (id) on delete cascade,
    name            text        not null check (char_length(name) between 1 and 50),
    hash            bytea       not null unique, -- SHA-256 of the token.
    created_by      text        not null, -- The name of the administrator.
    created_at      timestamptz not null default now(),
    last_used_at    timestamptz -- Accurate to a minute.
);
create index scim_tokens_of_organization on scim_tokens (organization_id);

-- The members as the identity provider has described them. Members without a row are visible to it too.
create table scim_users (
    organization_id uuid        not null,
    user_id         uuid        primary key,
    user_name       text        not null,
    external_id     text,
    emails          text[]      not null, -- Lower case.
    attributes      jsonb       not null, -- With the names of RFC 7643.
    deleted_at      timestamptz, -- The identity provider has deleted the user: it does not see the member any more.
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create unique index scim_users_user_name on scim_users (organization_id, lower(user_name)) where deleted_at is null;
create unique index scim_users_external_id on scim_users (organization_id, external_id)
    where deleted_at is null and external_id is not null;
create index scim_users_emails on scim_users using gin (emails);

-- The last calls of identity providers. The oldest ones are deleted.
create table scim_calls (
    id              uuid primary key, -- Sorts by time.
    organization_id uuid        not null references organizations (id) on delete cascade,
    at              timestamptz not null default now(),
    token_name      text        not null,
    method          text        not null,
    path            text        not null, -- Below /scim/v2, with the query.
    target          text        not null, -- The name of the user or group, or ''.
    status          integer     not null,
    code            text        not null, -- Of a refused call, else ''.
    detail          text        not null
);
create index scim_calls_of_organization on scim_calls (organization_id, (code <> ''), id desc);

alter table audit_events drop constraint audit_events_actor_kind_check;
alter table audit_events
    add constraint audit_events_actor_kind_check
        check (actor_kind in ('user', 'operator', 'system', 'unknown', 'provisioning'));
