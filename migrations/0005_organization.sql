-- Contracts and their usage -------------------------------------------------------------------------------------------

create table contracts (
    organization_id uuid primary key references organizations (id) on delete cascade,
    plan            text        not null default 'スタンダード' check (char_length(plan) between 1 and 50),
    status          text        not null default 'active' check (status in ('active', 'trial', 'suspended', 'ended')),
    seats           integer     not null default 50 check (seats >= 0),
    tokens          bigint      not null default 10000000 check (tokens >= 0), -- A month, read and written together.
    starts_on       date        not null, -- Days are Japan's here and below.
    ends_on         date check (ends_on >= starts_on), -- The last day. Null: open.
    updated_at      timestamptz not null default now()
);

insert into contracts (organization_id, starts_on)
select id, (created_at at time zone 'Asia/Tokyo')::date from organizations;

-- Every organization has a contract, however it is created.
create function give_contract() returns trigger language plpgsql as $$
begin
    insert into contracts (organization_id, starts_on)
    values (new.id, (new.created_at at time zone 'Asia/Tokyo')::date);
    return null;
end
$$;

create trigger organizations_contract after insert on organizations
    for each row execute function give_contract();

-- A row per person and day, so that nobody waits for others. It outlives a removed member.
create table usage_daily (
    organization_id uuid    not null references organizations (id) on delete cascade,
    date            date    not null,
    user_id         uuid    not null,
    messages        integer not null, -- Answers that ended, however they did.
    input_tokens    bigint  not null,
    output_tokens   bigint  not null,
    primary key (organization_id, date, user_id)
) with (fillfactor = 70); -- Rows change often while they are the day's: new versions find room on the same page.

insert into usage_daily (organization_id, date, user_id, messages, input_tokens, output_tokens)
select m.organization_id, (m.completed_at at time zone 'Asia/Tokyo')::date, t.user_id, count(*), sum(m.input_tokens),
       sum(m.output_tokens)
from messages m
join threads t on t.id = m.thread_id
where m.role = 'assistant' and m.completed_at is not null
group by 1, 2, 3;

alter table notifications
    add column audience text not null default 'all' check (audience in ('all', 'admins'));

-- The notices about a month's tokens: each is published once, by the first server that notices.
create table contract_notices (
    organization_id uuid     not null references organizations (id) on delete cascade,
    month           date     not null, -- Its first day.
    percent         smallint not null check (percent in (80, 100)),
    notification_id uuid references notifications (id) on delete set null,
    primary key (organization_id, month, percent)
);
create index contract_notices_by_notification on contract_notices (notification_id);

-- Members -------------------------------------------------------------------------------------------------------------

alter table users
    add column invite_request_id uuid; -- The call that invited the member.
create index users_by_name on users (organization_id, name, id);

-- An invite call and its results, so that it can be repeated safely.
create table invite_requests (
    organization_id uuid        not null references organizations (id) on delete cascade,
    request_id      uuid        not null, -- Made by the client.
    request_hash    bytea       not null check (octet_length(request_hash) = 32),
    claimed_until   timestamptz not null, -- Until then somebody is at it. Later, if there are no results, it may be begun again.
    results         jsonb check (jsonb_typeof(results) = 'array'),
    created_at      timestamptz not null default now(),
    primary key (organization_id, request_id)
);
create index invite_requests_by_age on invite_requests (created_at);

-- Changes of a member that are pending at the identity provider: written with the change itself, and deleted when the
-- provider has it. The provider receives the member's current state, so the order of changes does not matter. It
-- outlives a removed member.
create table account_changes (
    user_id         uuid primary key,
    organization_id uuid        not null,
    subject         text        not null, -- '' while the member is not invited.
    email           text        not null,
    invite          boolean     not null default false,
    name            boolean     not null default false,
    state           boolean     not null default false,
    remove          boolean     not null default false,
    version         bigint      not null default 1, -- Grows with each further change.
    attempts        integer     not null default 0,
    due_at          timestamptz not null, -- When whoever is at it now is given up, or when to try again.
    created_at      timestamptz not null default now()
);
create index account_changes_due on account_changes (due_at);
create index account_changes_by_email on account_changes (email) where remove;

-- Who did what to whom, when and from where. It outlives all of them.
create table audit_events (
    id              uuid primary key,
    organization_id uuid, -- Null: of no one organization.
    at              timestamptz not null default clock_timestamp(),
    actor_kind      text        not null check (actor_kind in ('user', 'operator', 'system')),
    actor_id        uuid,
    actor_name      text        not null default '',
    actor_email     text        not null default '',
    action          text        not null check (action <> ''),
    target_kind     text        not null default '',
    target_id       text        not null default '',
    target_label    text        not null default '',
    details         jsonb       not null default '[]' check (jsonb_typeof(details) = 'array'), -- What was before and after.
    address         inet,
    request_id      text        not null default ''
);
create index audit_events_by_organization on audit_events (organization_id, at desc, id desc);
create index audit_events_by_date on audit_events (at desc, id desc);

-- Every server listens, and closes streams that a person may no longer see.
create function tell_of_user() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_user', old.id::text);
    return null;
end
$$;

create trigger users_tell_change after update of role, state on users
    for each row when (old.role <> new.role or old.state <> new.state) execute function tell_of_user();

create trigger users_tell_removal after delete on users
    for each row execute function tell_of_user();

create function tell_of_members() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_user', u.id::text) from users u where u.organization_id = new.id;
    return null;
end
$$;

create trigger organizations_tell_members after update of auth_type on organizations
    for each row when (old.auth_type <> new.auth_type) execute function tell_of_members();
