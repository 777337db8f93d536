-- Networks for uses other than the app. Null: those of the app (address_ranges). Empty: from anywhere.
alter table organizations
    add column api_address_ranges        cidr[], -- Personal access tokens.
    add column connection_address_ranges cidr[]; -- Other connections, such as the browser extension.

drop trigger organizations_tell_address_ranges on organizations;
create trigger organizations_tell_address_ranges
    after update of address_ranges, api_address_ranges, connection_address_ranges on organizations
    for each row when (
        (old.address_ranges, old.api_address_ranges, old.connection_address_ranges)
        is distinct from (new.address_ranges, new.api_address_ranges, new.connection_address_ranges))
    execute function tell_of_address_ranges();

-- Warnings of administrators that the certificate of the identity provider expires.
create table saml_warnings (
    organization_id uuid        not null,
    user_id         uuid        not null,
    expires_at      timestamptz not null, -- The end of the certificate.
    days            integer     not null, -- The warning is due this number of days before.
    claimed_at      timestamptz not null,
    primary key (organization_id, user_id, expires_at, days),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
