-- Groups of members, and the skills that they may use.
create table member_groups (
    id              uuid primary key,
    organization_id uuid        not null references organizations (id) on delete cascade,
    name            text        not null check (char_length(name) between 1 and 100),
    description     text        not null default '' check (char_length(description) <= 1000),
    source          text        not null default 'manual' check (source in ('manual', 'scim', 'oidc')),
    token_limit     bigint check (token_limit between 1 and 1000000000000), -- Null: the organization's limit applies.
    request_id      uuid        not null, -- The call that added the group, and the hash of its body.
    request_hash    bytea       not null,
    created_at      timestamptz not null default now(),
    unique (organization_id, id),
    unique (organization_id, request_id),
    constraint member_groups_name unique (organization_id, name)
);
create index member_groups_with_limit on member_groups (organization_id) where token_limit is not null;

create table group_members (
    organization_id uuid not null,
    group_id        uuid not null,
    user_id         uuid not null,
    primary key (group_id, user_id),
    foreign key (organization_id, group_id) references member_groups (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index group_members_by_user on group_members (user_id);

-- The groups whose members may use a skill with the audience "members".
create table skill_groups (
    organization_id uuid not null,
    skill_id        uuid not null,
    group_id        uuid not null,
    primary key (skill_id, group_id),
    foreign key (organization_id, skill_id) references skills (organization_id, id) on delete cascade,
    foreign key (organization_id, group_id) references member_groups (organization_id, id) on delete cascade
);
create index skill_groups_by_group on skill_groups (group_id);
