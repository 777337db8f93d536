-- How many tokens a member may use a month: the organization's limit for every member, or one of their own.
alter table organizations
    add column member_tokens bigint check (member_tokens between 1 and 1000000000000); -- Null: no limit.

alter table users
    add column limit_rule   text not null default 'default' check (limit_rule in ('default', 'own', 'none')),
    add column limit_tokens bigint check (limit_tokens between 1 and 1000000000000),
    add constraint users_own_limit check ((limit_rule = 'own') = (limit_tokens is not null));
create index users_with_own_limit on users (organization_id) where limit_rule = 'own';

-- Notices to one member.
alter table notifications
    add column user_id uuid,
    add foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    add constraint notifications_of_members check (user_id is null or organization_id is not null);
create index notifications_by_user on notifications (organization_id, user_id) where user_id is not null;

-- The notices to members about their month's tokens: each is published once, by the first server that notices.
create table member_limit_notices (
    organization_id uuid     not null,
    user_id         uuid     not null,
    month           date     not null, -- Its first day.
    percent         smallint not null check (percent in (80, 100)),
    primary key (organization_id, user_id, month, percent),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
