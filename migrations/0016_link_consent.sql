-- Assertions that wait until a member has agreed, with their password, to be linked to a NameID.
create table saml_links (
    hash            bytea primary key check (octet_length(hash) = 32),
    browser_hash    bytea       not null check (octet_length(browser_hash) = 32),
    organization_id uuid        not null,
    user_id         uuid        not null,
    entity_id       text        not null,
    name_id         text        not null,
    email           text        not null, -- As asserted.
    next            text        not null,
    created_at      timestamptz not null,
    expires_at      timestamptz not null,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index saml_links_expiry on saml_links (expires_at);
create index saml_links_of_user on saml_links (organization_id, user_id);
