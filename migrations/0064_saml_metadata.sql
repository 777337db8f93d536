-- The address of the identity provider's metadata, which servers read again every day. Empty: the settings were entered.
alter table saml_configs
    add column metadata_url text not null default '',
    add column metadata_read_at timestamptz, -- The last successful reading.
    add column metadata_due_at timestamptz,  -- The next reading. Null without an address.
    add column metadata_error text not null default ''; -- Why the last reading failed, for administrators.
