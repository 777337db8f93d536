-- Single sign-on by OpenID Connect (package identity/oidc). The tables saml_states, saml_codes, saml_links and
-- federated_identities serve both protocols: their column entity_id contains the entity id or the issuer, and name_id
-- contains the NameID or the claim sub.

-- The protocol of single sign-on. It is in use if auth_type is federated_idp.
alter table organizations
    add column sso_protocol text not null default 'saml' check (sso_protocol in ('saml', 'oidc'));

-- An organization's OpenID provider.
create table oidc_configs (
    organization_id uuid primary key references organizations (id) on delete cascade,
    issuer          text        not null,
    client_id       text        not null,
    client_secret   text        not null, -- Sealed with the operator's key, if there is one. '' for a public client.
    scopes          text[]      not null,
    email_claim     text        not null,
    name_claim      text        not null,
    groups_claim    text        not null, -- '': groups are not set.
    prompt          text        not null,
    acr_values      text[]      not null,
    max_age         integer     not null check (max_age >= 0), -- In seconds; 0: any age.
    email_domains   text[]      not null, -- Some of the organization's mail_domains, lower case.
    updated_at      timestamptz not null
);

-- The identifier of a group at an identity provider. Null for a group that administrators have created.
alter table member_groups add column if not exists external_id text;
create unique index if not exists member_groups_external on member_groups (organization_id, source, external_id)
    where external_id is not null;

-- One provider may use the same name in both protocols, with different identifiers of its people.
alter table federated_identities
    add column protocol text not null default 'saml' check (protocol in ('saml', 'oidc')),
    drop constraint federated_identities_pkey,
    add primary key (organization_id, protocol, entity_id, name_id);

alter table saml_codes
    add column entity_id        text not null default '',
    add column name_id          text not null default '',
    add column provider_session text not null default ''; -- The claim sid.

alter table saml_links
    add column protocol         text not null default 'saml' check (protocol in ('saml', 'oidc')),
    add column provider_session text not null default '',
    add column groups           text[]; -- External ids of the person's groups. Null: groups are not set.

-- The person and the session at the identity provider, for back-channel logout. '' for sign-ins with a password.
alter table pool_grants
    add column provider         text not null default '', -- The entity id or issuer.
    add column provider_person  text not null default '',
    add column provider_session text not null default '';
create index pool_grants_of_person on pool_grants (provider, provider_person) where provider <> '';
