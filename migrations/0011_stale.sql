-- What servers know of who makes a request is read from three rows: the user's, the organization's and the session's. Each
-- tells by its id when it has changed in what is read; role and state of a user are told of already, with what they end.
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

-- auth_type as well, though each member is told of then: who joins meanwhile is not.
create trigger organizations_tell_stale after update of name, auth_type on organizations
    for each row when ((old.name, old.auth_type) is distinct from (new.name, new.auth_type)) execute function tell_of_stale();

-- The member is told of as well, but only if they are one already.
create trigger pool_grants_tell_stale after update of revoked_at on pool_grants
    for each row when (old.revoked_at is distinct from new.revoked_at) execute function tell_of_stale();
