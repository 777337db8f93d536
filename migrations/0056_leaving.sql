-- The deletion of organizations. From deletes_at on, servers delete everything that belongs to the organization. Before
-- that, members cannot use it. Null: the organization is not deleted.
alter table organizations add column deletes_at timestamptz;

create trigger organizations_tell_deletion after update of deletes_at on organizations
    for each row when (old.deletes_at is distinct from new.deletes_at) execute function tell_of_members();

-- Requested deletions. A row outlives its organization, and then contains the certificate.
create table organization_deletions (
    id           uuid primary key, -- The organization's.
    name         text        not null,
    requested_at timestamptz not null default now(),
    started_at   timestamptz,
    counts       jsonb check (jsonb_typeof(counts) = 'object'), -- What existed when the deletion started, by kind.
    certificate  text, -- JSON. Null until nothing is left.
    check ((started_at is null) = (counts is null))
);
create index organization_deletions_open on organization_deletions (id) where certificate is null;

-- The key that signs certificates.
create table signing_keys (
    one         boolean primary key default true check (one),
    private_key text        not null check (private_key <> ''), -- PKCS #8 in PEM.
    created_at  timestamptz not null default now()
);

-- The organization whose file it was, for the certificate. Null for uploads that were not finished.
alter table loose_files add column organization_id uuid;
create index loose_files_of_organization on loose_files (organization_id) where organization_id is not null;

create or replace function loosen_file() returns trigger language plpgsql as $$
begin
    insert into loose_files (id, organization_id)
    values (old.id, old.organization_id)
    on conflict (id) do update set remove_at = now(), organization_id = excluded.organization_id;
    return null;
end
$$;
