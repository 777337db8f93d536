-- Servers no longer remember who makes a call: they read it with each one, and need not be told that it is outdated.
drop trigger users_tell_stale on users;
drop trigger organizations_tell_stale on organizations;
drop trigger pool_grants_tell_stale on pool_grants;
drop function tell_of_stale();
