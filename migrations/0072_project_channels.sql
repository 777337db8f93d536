-- Channels of a chat service that are bound to a project: questions of its members are asked in the project. A channel
-- is bound to one project. Rows of an installation and of a project are deleted with it.
create table project_channels (
    id              uuid primary key,
    organization_id uuid        not null,
    project_id      uuid        not null,
    installation_id uuid        not null,
    channel         text        not null check (channel <> ''), -- The surface's id of the channel.
    name            text        not null, -- Of the channel when it was bound.
    bound_by        uuid, -- Null: the member was removed.
    bound_at        timestamptz not null default now(),
    unique (installation_id, channel),
    foreign key (organization_id, project_id) references projects (organization_id, id) on delete cascade,
    foreign key (organization_id, installation_id) references channel_installations (organization_id, id) on delete cascade,
    constraint project_channels_bound_by foreign key (organization_id, bound_by)
        references users (organization_id, id) on delete set null (bound_by)
);
create index project_channels_of_project on project_channels (project_id, bound_at, id);
create index project_channels_by_member on project_channels (bound_by) where bound_by is not null;
