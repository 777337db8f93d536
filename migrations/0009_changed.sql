-- When the rights of a user, or of an organization, last changed: for servers that were not listening at that time.
alter table users add column changed_at timestamptz;
alter table organizations add column changed_at timestamptz;

create function note_change() returns trigger language plpgsql as $$
begin
    new.changed_at := clock_timestamp();
    return new;
end
$$;

create trigger users_note_change before update of role, state on users
    for each row when (old.role <> new.role or old.state <> new.state) execute function note_change();

create trigger organizations_note_change before update of auth_type on organizations
    for each row when (old.auth_type <> new.auth_type) execute function note_change();
