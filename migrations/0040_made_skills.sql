-- Skills that people make in the app: their own, and those of their organization.

alter table skills
    -- file: built in or imported. app: made in the app. draft: being tried by its maker, and never listed.
    add column origin         text    not null default 'file' check (origin in ('file', 'app', 'draft')),
    add column owner_id       uuid, -- Whose own skill it is. Null: the organization's, or everybody's.
    add column audience       text    not null default 'organization' check (audience in ('self', 'organization', 'members')),
    add column version        integer not null default 0, -- Of a skill made in the app: the newest of its versions.
    add column answer_length  text    not null default '' check (answer_length in ('', 'short', 'standard', 'long')),
    add column model          text    not null default '',
    add column examples       jsonb   not null default '[]' check (jsonb_typeof(examples) = 'array'),
    add column published_from uuid references skills (id) on delete set null, -- The own skill that it was made of.
    add column draft_slot     uuid, -- Of a draft: the editor in which it is tried.
    add check ((owner_id is null) = (audience <> 'self')),
    add check (origin <> 'draft' or owner_id is not null),
    add check (origin = 'file' or organization_id is not null),
    add foreign key (organization_id, owner_id) references users (organization_id, id) on delete cascade,
    add unique (organization_id, id);
create index skills_by_owner on skills (owner_id) where owner_id is not null;
create unique index skills_by_slot on skills (owner_id, draft_slot) where draft_slot is not null;
create index skills_by_source on skills (published_from) where published_from is not null;

-- The members who may use a skill with the audience "members".
create table skill_members (
    organization_id uuid not null,
    skill_id        uuid not null,
    user_id         uuid not null,
    primary key (skill_id, user_id),
    foreign key (organization_id, skill_id) references skills (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index skill_members_by_user on skill_members (user_id);

-- The documents from which a skill answers. Each belongs to whoever uploaded it; whoever uses the skill reads them only
-- through its answers.
create table skill_documents (
    organization_id uuid    not null,
    skill_id        uuid    not null,
    data_source_id  uuid    not null,
    place           integer not null,
    primary key (skill_id, data_source_id),
    foreign key (organization_id, skill_id) references skills (organization_id, id) on delete cascade,
    foreign key (organization_id, data_source_id) references data_sources (organization_id, id) on delete cascade
);
create index skill_documents_by_source on skill_documents (data_source_id);

-- Every version of a skill made in the app, and the request that saved it.
create table skill_versions (
    organization_id uuid        not null,
    skill_id        uuid        not null,
    version         integer     not null check (version > 0),
    user_id         uuid, -- Who saved it; null once that account is gone.
    user_name       text        not null,
    request_id      uuid        not null,
    content         jsonb       not null,
    created_at      timestamptz not null default now(),
    primary key (skill_id, version),
    unique (user_id, request_id),
    foreign key (organization_id, skill_id) references skills (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete set null (user_id)
);

-- Requests to have an own skill published in the organization.
create table skill_requests (
    id              uuid primary key,
    organization_id uuid        not null,
    skill_id        uuid        not null,
    version         integer     not null,
    user_id         uuid        not null,
    note            text        not null default '',
    state           text        not null default 'pending' check (state in ('pending', 'approved', 'rejected')),
    reason          text        not null default '', -- Why it was rejected.
    decided_at      timestamptz,
    created_at      timestamptz not null default now(),
    foreign key (organization_id, skill_id) references skills (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    check ((state = 'pending') = (decided_at is null))
);
create unique index skill_requests_pending on skill_requests (skill_id) where state = 'pending';
create index skill_requests_by_skill on skill_requests (skill_id, created_at desc);
create index skill_requests_open on skill_requests (organization_id, created_at) where state = 'pending';
create index skill_requests_by_user on skill_requests (user_id);

-- Skills for all organizations that one of them does not offer.
create table hidden_skills (
    organization_id uuid not null references organizations (id) on delete cascade,
    skill_id        uuid not null references skills (id) on delete cascade,
    primary key (organization_id, skill_id)
);
