-- Single sign-on (package identity/saml) --------------------------------------------------------------------------------

-- The key that signs requests: one per installation, known to all identity providers.
create table saml_keys (
    one         boolean primary key default true check (one),
    private_key text        not null check (private_key <> ''), -- PKCS #8 in PEM.
    certificate bytea       not null, -- DER.
    created_at  timestamptz not null
);

-- An organization's identity provider. Whether it is in use is the organization's auth_type.
create table saml_configs (
    organization_id uuid primary key references organizations (id) on delete cascade,
    entity_id       text        not null,
    sso_url         text        not null,
    certificates    bytea[]     not null, -- DER.
    email_attribute text        not null, -- '': the NameID.
    name_attribute  text        not null,
    email_domains   text[]      not null, -- Some of the organization's mail_domains, lower case.
    updated_at      timestamptz not null
);

-- Tests of the settings by administrators. They are deleted after a day.
create table saml_tests (
    id              uuid primary key,
    organization_id uuid        not null references organizations (id) on delete cascade,
    status          text        not null check (status in ('pending', 'success', 'failed')),
    error           text        not null default '',
    name_id         text        not null default '',
    email           text        not null default '',
    name            text        not null default '',
    attributes      jsonb       not null default '[]' check (jsonb_typeof(attributes) = 'array'),
    created_at      timestamptz not null
);
create index saml_tests_by_age on saml_tests (created_at);
create index saml_tests_of_organization on saml_tests (organization_id);

-- Sign-ins in progress at identity providers, each valid for one response.
create table saml_states (
    hash            bytea primary key check (octet_length(hash) = 32), -- SHA-256 of the RelayState.
    browser_hash    bytea       not null check (octet_length(browser_hash) = 32), -- SHA-256 of the browser's cookie.
    organization_id uuid        not null references organizations (id) on delete cascade,
    request_id      text        not null,
    next            text        not null,
    test_id         uuid references saml_tests (id) on delete cascade,
    expires_at      timestamptz not null
);
create index saml_states_expiry on saml_states (expires_at);
create index saml_states_of_organization on saml_states (organization_id);
create index saml_states_of_test on saml_states (test_id) where test_id is not null;

-- Used assertions, until they expire, so that none is accepted twice.
create table saml_assertions (
    organization_id uuid        not null references organizations (id) on delete cascade,
    hash            bytea       not null check (octet_length(hash) = 32), -- SHA-256 of the identity provider's name and the assertion's id.
    expires_at      timestamptz not null,
    primary key (organization_id, hash)
);
create index saml_assertions_expiry on saml_assertions (expires_at);

-- The one-time codes that browsers exchange for tokens.
create table saml_codes (
    hash            bytea primary key check (octet_length(hash) = 32),
    browser_hash    bytea       not null check (octet_length(browser_hash) = 32),
    organization_id uuid        not null,
    user_id         uuid        not null,
    next            text        not null,
    expires_at      timestamptz not null,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index saml_codes_expiry on saml_codes (expires_at);
create index saml_codes_of_user on saml_codes (organization_id, user_id);

-- The member of a NameID. See docs/adr/0014-who-an-assertion-is.md.
create table federated_identities (
    organization_id uuid        not null,
    entity_id       text        not null, -- The identity provider's.
    name_id         text        not null,
    user_id         uuid        not null,
    created_at      timestamptz not null,
    primary key (organization_id, entity_id, name_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index federated_identities_of_user on federated_identities (organization_id, user_id);
