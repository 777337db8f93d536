-- Projects: files, instructions and threads that several members share. When the access of a member to projects last
-- changed, for servers that were not listening at that time:
alter table organizations add column access_changed_at timestamptz;

create table projects (
    id              uuid primary key,
    organization_id uuid        not null references organizations (id) on delete cascade,
    name            text        not null check (char_length(name) between 1 and 100),
    description     text        not null default '' check (char_length(description) <= 1000),
    instructions    text        not null default '' check (char_length(instructions) <= 32000),
    skill_id        uuid references skills (id) on delete set null, -- The default skill of new threads.
    version         integer     not null default 1, -- Changes with the columns above and below, and with the grants.
    archived_at     timestamptz,
    deleted_at      timestamptz, -- From then on, nobody can open the project. 30 days later it is removed.
    retention_days  integer check (retention_days between 30 and 3650), -- Null: the organization's setting applies.
    retention_since timestamptz, -- When retention_days was last changed. Earlier notices do not count.
    storage_limit   bigint check (storage_limit > 0), -- Bytes. Null: the project has no limit of its own.
    source_count    integer     not null default 0, -- Of project_sources; maintained by a trigger.
    source_bytes    bigint      not null default 0,
    request_id      uuid        not null, -- The call that created the project, and the hash of its body.
    request_hash    bytea       not null,
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    unique (organization_id, id),
    unique (organization_id, request_id)
);
create index projects_by_name on projects (organization_id, name, id);
create index projects_deleted on projects (deleted_at) where deleted_at is not null;
create index projects_by_skill on projects (skill_id) where skill_id is not null;

create type project_access as enum ('viewer', 'editor', 'manager'); -- From the weakest to the strongest.

-- A grant is for a member, a group, or, without both, for all members of the organization.
create table project_grants (
    organization_id uuid           not null,
    project_id      uuid           not null,
    user_id         uuid,
    group_id        uuid,
    role            project_access not null,
    granted_at      timestamptz    not null default now(),
    check (user_id is null or group_id is null),
    unique nulls not distinct (project_id, user_id, group_id),
    foreign key (organization_id, project_id) references projects (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, group_id) references member_groups (organization_id, id) on delete cascade
);
create index project_grants_by_user on project_grants (user_id) where user_id is not null;
create index project_grants_by_group on project_grants (group_id) where group_id is not null;
create index project_grants_for_all on project_grants (organization_id) where user_id is null and group_id is null;

-- The projects that an active member has a role in, with the strongest one. The following functions are the only place
-- where roles are computed. granted_projects includes deleted projects; the others do not.
create function granted_projects(organization uuid, person uuid)
    returns table (project_id uuid, role project_access) language sql stable as $$
    select g.project_id, max(g.role)
    from (select o.project_id, o.role
          from project_grants o
          where o.user_id = person and o.organization_id = organization
          union all
          select o.project_id, o.role
          from group_members m
          join project_grants o on o.group_id = m.group_id
          where m.user_id = person and o.organization_id = organization
          union all
          select o.project_id, o.role
          from project_grants o
          where o.user_id is null and o.group_id is null and o.organization_id = organization) g
    where exists (select from users u where u.id = person and u.organization_id = organization and u.state = 'active')
    group by g.project_id
$$;

create function projects_of(organization uuid, person uuid)
    returns table (project_id uuid, role project_access) language sql stable as $$
    select g.project_id, g.role
    from granted_projects(organization, person) g
    join projects p on p.id = g.project_id
    where p.organization_id = organization and p.deleted_at is null
$$;

-- The role of a member in a project, null for none.
create function project_role(organization uuid, person uuid, project uuid) returns project_access language sql stable as $$
    select a.role from projects_of(organization, person) a where a.project_id = project
$$;

-- The members that a grant is for.
create function granted_members(organization uuid, member uuid, member_group uuid)
    returns table (user_id uuid) language sql stable as $$
    select member where member is not null
    union all
    select m.user_id from group_members m where m.group_id = member_group
    union all
    select u.id from users u where member is null and member_group is null and u.organization_id = organization
$$;

-- Servers close the streams and connections of members whose role in a project may have changed. Members who still have
-- access reconnect.
create function tell_of_access(organization uuid, members uuid[]) returns void language plpgsql as $$
begin
    if members = '{}' then
        return;
    end if;
    perform pg_notify('tsumugi_user', m::text) from unnest(members) m;
    update organizations set access_changed_at = clock_timestamp() where id = organization;
end
$$;

create function tell_of_grants() returns trigger language plpgsql as $$
begin
    perform tell_of_access(c.organization_id, array_agg(distinct m.user_id))
    from (select distinct organization_id, user_id, group_id from changed) c,
         granted_members(c.organization_id, c.user_id, c.group_id) m
    group by c.organization_id;
    return null;
end
$$;

create trigger project_grants_tell_insert after insert on project_grants
    referencing new table as changed for each statement execute function tell_of_grants();
create trigger project_grants_tell_update after update on project_grants
    referencing new table as changed for each statement execute function tell_of_grants();
create trigger project_grants_tell_delete after delete on project_grants
    referencing old table as changed for each statement execute function tell_of_grants();

-- A group is deleted after its grants, so that its members are still known.
create function tell_of_group() returns trigger language plpgsql as $$
begin
    perform tell_of_access(c.organization_id, array_agg(distinct c.user_id))
    from changed c
    where exists (select from project_grants g where g.group_id = c.group_id)
    group by c.organization_id;
    return null;
end
$$;

create trigger group_members_tell_insert after insert on group_members
    referencing new table as changed for each statement execute function tell_of_group();
create trigger group_members_tell_delete after delete on group_members
    referencing old table as changed for each statement execute function tell_of_group();

create function tell_of_project() returns trigger language plpgsql as $$
begin
    perform tell_of_access(new.organization_id, array (
        select distinct m.user_id
        from project_grants g, granted_members(g.organization_id, g.user_id, g.group_id) m
        where g.project_id = new.id));
    return null;
end
$$;

create trigger projects_tell_deletion after update of deleted_at on projects
    for each row when (old.deleted_at is distinct from new.deleted_at) execute function tell_of_project();

-- Lists of projects show the number of their members, without counting those of large groups.
alter table member_groups add column member_count integer not null default 0; -- Maintained by a trigger.
update member_groups g set member_count = (select count(*) from group_members m where m.group_id = g.id);

create function count_group_members() returns trigger language plpgsql as $$
begin
    update member_groups g
    set member_count = g.member_count + c.members
    from (select group_id, count(*) * tg_argv[0]::integer as members from changed group by group_id) c
    where g.id = c.group_id;
    return null;
end
$$;

create trigger group_members_count_insert after insert on group_members
    referencing new table as changed for each statement execute function count_group_members('1');
create trigger group_members_count_delete after delete on group_members
    referencing old table as changed for each statement execute function count_group_members('-1');

-- A thread in a project is private to its owner, or shared with the members of the project.
alter table threads
    add column project_id uuid,
    add column visibility text not null default 'private' check (visibility in ('private', 'project')),
    add check (visibility = 'private' or project_id is not null),
    add constraint threads_project foreign key (organization_id, project_id)
        references projects (organization_id, id) on delete cascade;
create index threads_of_project on threads (project_id, visibility, touched_at desc, id desc)
    where project_id is not null;

create trigger threads_keep_moved before update of project_id, visibility on threads
    for each row when (old.told_at is not null
        and (old.project_id, old.visibility) is distinct from (new.project_id, new.visibility))
    execute function keep_thread();

-- The files of projects. A file exists as long as a member owns it, or a skill or a project uses it.
create table project_sources (
    organization_id uuid        not null,
    project_id      uuid        not null,
    data_source_id  uuid        not null,
    added_by        uuid, -- Null: the member was removed.
    added_at        timestamptz not null default now(),
    primary key (project_id, data_source_id),
    foreign key (organization_id, project_id) references projects (organization_id, id) on delete cascade,
    foreign key (organization_id, data_source_id) references data_sources (organization_id, id) on delete cascade,
    constraint project_sources_added_by foreign key (organization_id, added_by)
        references users (organization_id, id) on delete set null (added_by)
);
create index project_sources_by_source on project_sources (data_source_id);
create index project_sources_newest on project_sources (project_id, added_at desc, data_source_id desc);
create index project_sources_by_member on project_sources (added_by) where added_by is not null;

-- Rows of project_sources are deleted before their data sources, whose sizes are needed here.
create function count_project_sources() returns trigger language plpgsql as $$
begin
    update projects p
    set source_count = p.source_count + c.sources, source_bytes = p.source_bytes + c.bytes
    from (select k.project_id, count(*) * tg_argv[0]::integer as sources, sum(d.size) * tg_argv[0]::integer as bytes
          from changed k
          join data_sources d on d.id = k.data_source_id
          group by k.project_id) c
    where p.id = c.project_id;
    return null;
end
$$;

create trigger project_sources_count_insert after insert on project_sources
    referencing new table as changed for each statement execute function count_project_sources('1');
create trigger project_sources_count_delete after delete on project_sources
    referencing old table as changed for each statement execute function count_project_sources('-1');

create index data_sources_by_content on data_sources (sha256);

-- The member whose turn the reading of a file without an owner is.
alter table data_sources
    add column uploaded_by uuid,
    add constraint data_sources_uploaded_by foreign key (organization_id, uploaded_by)
        references users (organization_id, id) on delete set null (uploaded_by);
drop index data_sources_to_read;
create index data_sources_to_read on data_sources (coalesce(user_id, uploaded_by), read_after)
    where status in ('pending', 'running');
create index data_sources_uploaded on data_sources (uploaded_by) where uploaded_by is not null;

create or replace function keep_shared_document() returns trigger language plpgsql as $$
begin
    if not exists (select from shared_documents k where k.data_source_id = old.id)
       and not exists (select from project_sources k where k.data_source_id = old.id) then
        return old;
    end if;
    delete from thread_data_sources where data_source_id = old.id;
    delete from skill_documents k using skills s
    where k.data_source_id = old.id and s.id = k.skill_id and s.owner_id = old.user_id;
    update data_sources set user_id = null, revision = revision + 1 where id = old.id;
    return null;
end
$$;

create or replace function drop_unowned_document() returns trigger language plpgsql as $$
begin
    perform from data_sources where id = old.data_source_id for no key update; -- One of several at a time.
    delete from data_sources d
    where d.id = old.data_source_id and d.user_id is null
      and not exists (select from shared_documents k where k.data_source_id = d.id)
      and not exists (select from project_sources k where k.data_source_id = d.id);
    return null;
end
$$;

create constraint trigger project_sources_drop_unowned after delete on project_sources
    deferrable initially deferred for each row execute function drop_unowned_document();

-- The threads that are deleted after a number of days without use. In a project, shared threads follow the setting of the
-- project, or else that of the organization; private threads follow the shorter one.
create view retained_threads as
    select t.id, t.organization_id, t.user_id, t.touched_at, t.told_at, o.retention_days as days,
           o.retention_since as since
    from organizations o
    join threads t on t.organization_id = o.id
    where t.project_id is null and o.retention_days is not null and o.deletes_at is null and not t.pinned
      and t.expires_at is null
    union all
    select t.id, t.organization_id, t.user_id, t.touched_at, t.told_at, r.days,
           greatest(o.retention_since, p.retention_since)
    from projects p
    join organizations o on o.id = p.organization_id
    cross join lateral (values ('project', coalesce(p.retention_days, o.retention_days)),
                               ('private', least(p.retention_days, o.retention_days))) r (visibility, days)
    join threads t on t.project_id = p.id and t.visibility = r.visibility
    where r.days is not null and o.deletes_at is null and not t.pinned and t.expires_at is null;
