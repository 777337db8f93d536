-- Networks from which the members of an organization may use it. Empty: from anywhere.
alter table organizations add column address_ranges cidr[] not null default '{}';

-- Servers close the streams and connections of all members, who reconnect from where they are still allowed.
create function tell_of_address_ranges() returns trigger language plpgsql as $$
begin
    perform tell_of_access(new.id, (select coalesce(array_agg(u.id), '{}') from users u where u.organization_id = new.id));
    return null;
end
$$;

create trigger organizations_tell_address_ranges after update of address_ranges on organizations
    for each row when (old.address_ranges <> new.address_ranges) execute function tell_of_address_ranges();
