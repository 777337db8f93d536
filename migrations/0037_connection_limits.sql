-- How long a connection may go without being used, in minutes, instead of the limit of the session that it began in.
-- The other limits of that session hold for it as well.
alter table organizations
    add column connection_idle_minutes integer not null default 43200,
    add constraint organizations_connections check (connection_idle_minutes between 5 and 43200);

-- The refresh token that a token was exchanged for. Null for the first ones of a connection, and for those that were
-- replaced because their answer was lost. It may have been deleted since.
alter table connection_tokens add column parent bytea;
comment on column connection_tokens.used_at is 'When a refresh token was exchanged, or an access token first used.';

-- The client-made id of the request for a personal access token, so that a repeated one makes no other token.
alter table sessions add column request_id uuid;
create unique index sessions_of_requests on sessions (organization_id, user_id, request_id) where request_id is not null;
