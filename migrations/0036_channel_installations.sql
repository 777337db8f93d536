-- Workspaces in which the assistant answers (package channel) -----------------------------------------------------------

-- One for an organization and surface.
create table channel_installations (
    id              uuid primary key,
    organization_id uuid        not null references organizations (id) on delete cascade,
    surface         text        not null check (surface <> ''), -- 'slack'.
    team_id         text        not null default '', -- '' before the workspace is known, and of an enterprise's installation.
    enterprise_id   text        not null default '', -- Of an enterprise's installation.
    app_id          text        not null default '',
    bot_user_id     text        not null default '',
    team_name       text        not null default '',
    source          text        not null check (source in ('stored', 'environment')),
    auto_link       boolean     not null default false,
    shared_channels boolean     not null default false,
    channels        text[]      not null default '{}', -- Those in which is answered; empty: all.
    credentials     text        not null default '', -- Sealed; '' for one from the environment.
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    unique (organization_id, id),
    unique (organization_id, surface),
    check (team_id = '' or enterprise_id = '')
);
create unique index channel_installations_workspace on channel_installations (surface, team_id) where team_id <> '';
create unique index channel_installations_enterprise on channel_installations (surface, enterprise_id)
    where enterprise_id <> '';

-- Installations that a browser has begun.
create table channel_installs (
    hash            bytea primary key check (octet_length(hash) = 32), -- SHA-256 of the state.
    browser_hash    bytea       not null check (octet_length(browser_hash) = 32), -- SHA-256 of the browser's cookie.
    organization_id uuid        not null,
    user_id         uuid        not null,
    surface         text        not null,
    expires_at      timestamptz not null,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index channel_installs_expiry on channel_installs (expires_at);
create index channel_installs_of_user on channel_installs (organization_id, user_id);

-- Which member a person of a workspace is.
create table channel_links (
    organization_id uuid        not null,
    installation_id uuid        not null,
    person          text        not null check (person <> ''), -- The surface's name for the person.
    person_name     text        not null,
    user_id         uuid        not null,
    automatic       boolean     not null, -- By the confirmed mail address.
    created_at      timestamptz not null default now(),
    primary key (installation_id, person),
    unique (installation_id, user_id),
    foreign key (organization_id, installation_id) references channel_installations (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index channel_links_of_user on channel_links (organization_id, user_id);
create index channel_links_newest on channel_links (organization_id, installation_id, created_at desc, person);

-- Proofs that a person and a member are the same, each valid once.
create table channel_proofs (
    hash            bytea primary key check (octet_length(hash) = 32), -- SHA-256 of the state.
    browser_hash    bytea check (octet_length(browser_hash) = 32), -- Null before a member has opened it.
    organization_id uuid        not null,
    installation_id uuid        not null,
    person          text        not null, -- '': whoever signs in.
    user_id         uuid, -- Null before a member has opened it.
    nonce           text        not null,
    expires_at      timestamptz not null,
    check ((browser_hash is null) = (user_id is null)),
    foreign key (organization_id, installation_id) references channel_installations (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index channel_proofs_expiry on channel_proofs (expires_at);
create index channel_proofs_of_user on channel_proofs (organization_id, user_id) where user_id is not null;
create index channel_proofs_of_installation on channel_proofs (organization_id, installation_id);
