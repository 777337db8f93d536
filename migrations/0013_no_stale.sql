-- Servers no longer cache the actor: they read it with each call, and need no notification when it changes.
drop trigger users_tell_stale on users;
drop trigger organizations_tell_stale on organizations;
drop trigger pool_grants_tell_stale on pool_grants;
drop function tell_of_stale();
