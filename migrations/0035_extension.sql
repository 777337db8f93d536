-- The Chrome extension as this installation packs it ----------------------------------------------------------------------

create table extension_release (
    only_row    boolean primary key default true check (only_row),
    private_key text    not null check (private_key <> ''), -- PKCS #8 in PEM. The extension's id is its public key's hash.
    digest      bytea   not null check (octet_length(digest) = 32), -- Of the files that were packed last.
    build       integer not null check (build > 0) -- The last part of the version.
);
