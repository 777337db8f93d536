-- A server's cached actor comes from three rows: the user's, the organization's and the session's. Each sends a
-- notification with its id when it has changed; changes of a user's role and state are announced already.
create function tell_of_stale() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_user', 'stale ' || old.id::text);
    return null;
end
$$;

create trigger users_tell_stale after update of organization_id, subject, email, name, auth_type on users
    for each row when ((old.organization_id, old.subject, old.email, old.name, old.auth_type)
        is distinct from (new.organization_id, new.subject, new.email, new.name, new.auth_type))
    execute function tell_of_stale();

-- Also auth_type, although there is a notification per member then: there is none for a member who joins meanwhile.
create trigger organizations_tell_stale after update of name, auth_type on organizations
    for each row when ((old.name, old.auth_type) is distinct from (new.name, new.auth_type)) execute function tell_of_stale();

-- There is also a notification for the user, but only if they are a member already.
create trigger pool_grants_tell_stale after update of revoked_at on pool_grants
    for each row when (old.revoked_at is distinct from new.revoked_at) execute function tell_of_stale();
