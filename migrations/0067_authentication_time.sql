-- The time at which an identity provider authenticated the person of a session. Null if unknown, and for sign-ins with a
-- password.
alter table saml_codes add column authenticated_at timestamptz;
alter table pool_grants add column authenticated_at timestamptz;
