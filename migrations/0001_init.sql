-- Identity and organization ------------------------------------------------------------------------------------------

create table organizations (
    id           uuid primary key,
    name         text        not null check (char_length(name) between 1 and 100),
    auth_type    text        not null default 'cognito' check (auth_type in ('cognito', 'federated_idp')),
    mail_domains text[]      not null default '{}', -- Lower case. Who writes from them signs in by this organization.
    created_at   timestamptz not null default now()
);
create index organizations_mail_domains on organizations using gin (mail_domains);

create table users (
    id                uuid primary key,
    organization_id   uuid        not null references organizations (id) on delete cascade,
    subject           text        not null unique check (subject <> ''), -- The identity provider's name for the person: the claim sub.
    email             text        not null check (email = lower(email) and char_length(email) between 3 and 254),
    name              text        not null check (char_length(name) between 1 and 100),
    role              text        not null check (role in ('general-user', 'organization-admin', 'organization-super-admin', 'system-admin')),
    state             text        not null default 'active' check (state in ('active', 'inactive')),
    auth_type         text        not null default 'cognito' check (auth_type in ('cognito', 'federated_idp')),
    invited_at        timestamptz,
    last_signed_in_at timestamptz,
    created_at        timestamptz not null default now(),
    unique (organization_id, id), -- For the foreign keys that carry the organization.
    unique (email)
);

create table notifications (
    id              uuid primary key,
    organization_id uuid references organizations (id) on delete cascade, -- Null: for every organization.
    title           text        not null check (char_length(title) between 1 and 200),
    body            text        not null default '',
    url             text        not null default '',
    level           text        not null check (level in ('info', 'warning', 'maintenance')),
    published_at    timestamptz not null default now()
);
create index notifications_by_date on notifications (published_at desc, id desc);

create table notification_reads (
    organization_id uuid        not null,
    user_id         uuid        not null,
    notification_id uuid        not null references notifications (id) on delete cascade,
    read_at         timestamptz not null default now(),
    primary key (user_id, notification_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);

-- Skills -------------------------------------------------------------------------------------------------------------

create table categories (
    id       uuid primary key,
    name     text    not null check (char_length(name) between 1 and 50),
    position integer not null
);

create table skills (
    id                   uuid primary key,
    organization_id      uuid references organizations (id) on delete cascade, -- Null: built in, shared by all.
    category_id          uuid        not null references categories (id),
    position             integer     not null,
    name                 text        not null check (char_length(name) between 1 and 50),
    description          text        not null default '',
    icon_path            text        not null,
    kind                 text        not null default '',
    task_type            text check (task_type in ('document_qa', 'summarization')),
    form_type            text        not null check (form_type in ('chat', 'form')),
    form_fields          jsonb       not null default '[]' check (jsonb_typeof(form_fields) = 'array'),
    suggestions          jsonb       not null default '[]' check (jsonb_typeof(suggestions) = 'array'),
    accepts_data_sources boolean     not null default false,
    prompt               text        not null,
    retired_at           timestamptz, -- No longer offered; its threads stay readable.
    created_at           timestamptz not null default now(),
    updated_at           timestamptz not null default now()
);
create index skills_by_category on skills (category_id, position);

create table favorite_skills (
    organization_id uuid        not null,
    user_id         uuid        not null,
    skill_id        uuid        not null references skills (id) on delete cascade,
    created_at      timestamptz not null default now(),
    primary key (user_id, skill_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index favorite_skills_newest on favorite_skills (user_id, created_at desc, skill_id);

-- Conversations ------------------------------------------------------------------------------------------------------

create table threads (
    id              uuid primary key,
    organization_id uuid        not null,
    user_id         uuid        not null,
    skill_id        uuid        not null references skills (id),
    request_id      uuid, -- Made by the client, so that creating can be repeated safely.
    title           text        not null default '' check (char_length(title) <= 100),
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    touched_at      timestamptz not null default now(),
    unique (organization_id, id),
    unique (user_id, request_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index threads_by_touch on threads (user_id, touched_at desc, id desc);

create table messages (
    id              uuid primary key,
    organization_id uuid        not null,
    thread_id       uuid        not null,
    seq             bigint      generated always as identity, -- Order within the thread: the thread's row is locked while it is written to.
    role            text        not null check (role in ('system', 'user', 'assistant', 'function')),
    content         text        not null default '',
    prompt          text        not null default '', -- What the model reads, where that is not the content.
    status          text        not null check (status in ('pending', 'running', 'success', 'failed')),
    finish_reason   text check (finish_reason in ('stop', 'length', 'stopped', 'error')),
    error_code      text        not null default '',
    error_detail    text        not null default '',
    error_retryable boolean     not null default false,
    model           text        not null default '',
    input_tokens    integer     not null default 0 check (input_tokens >= 0),
    output_tokens   integer     not null default 0 check (output_tokens >= 0),
    citations       jsonb       not null default '[]' check (jsonb_typeof(citations) = 'array'),
    steps           jsonb       not null default '[]' check (jsonb_typeof(steps) = 'array'),
    question_id     uuid, -- Of an answer: what it answers.
    replaced_by     uuid, -- Of an answer that was asked again: the newer one.
    created_at      timestamptz not null default now(),
    completed_at    timestamptz,
    unique (organization_id, id),
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade,
    foreign key (organization_id, question_id) references messages (organization_id, id) on delete cascade,
    foreign key (organization_id, replaced_by) references messages (organization_id, id)
        on delete set null (replaced_by) deferrable initially deferred,
    check ((status in ('pending', 'running')) = (completed_at is null)),
    check (role = 'assistant' or status = 'success'),
    check ((role = 'assistant') = (question_id is not null))
);
create index messages_newest on messages (thread_id, seq desc) where replaced_by is null;
-- For the foreign keys: deleting a thread looks up its messages, replaced ones included, and what refers to each.
create index messages_by_thread on messages (thread_id);
create index messages_by_question on messages (question_id) where question_id is not null;
create index messages_by_replacement on messages (replaced_by) where replaced_by is not null;

create table message_feedback (
    organization_id uuid        not null,
    user_id         uuid        not null,
    message_id      uuid        not null,
    rating          text        not null check (rating in ('good', 'bad')),
    comment         text        not null default '' check (char_length(comment) <= 2000),
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now(),
    primary key (message_id, user_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade,
    foreign key (organization_id, message_id) references messages (organization_id, id) on delete cascade
);
create index message_feedback_by_user on message_feedback (user_id);

-- Generations --------------------------------------------------------------------------------------------------------

-- A server that runs generations. One that is silent for longer than the lease is dead; its generations are taken over.
create table servers (
    id           uuid primary key,
    started_at   timestamptz not null default now(),
    heartbeat_at timestamptz not null default now()
);

-- The generation of one answer. run grows with each takeover, and writes of an earlier run are refused.
create table generations (
    message_id        uuid primary key,
    organization_id   uuid        not null,
    user_id           uuid        not null,
    thread_id         uuid        not null,
    request_id        uuid        not null, -- Made by the client: the same one is the same generation.
    request_hash      bytea       not null check (octet_length(request_hash) = 32),
    run               integer     not null default 1 check (run > 0),
    server_id         uuid        not null,
    stop_requested_at timestamptz,
    started_at        timestamptz not null default now(),
    ended_at          timestamptz,
    unique (user_id, request_id),
    foreign key (organization_id, message_id) references messages (organization_id, id) on delete cascade,
    foreign key (organization_id, thread_id) references threads (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
-- One generation at a time in a thread.
create unique index generations_one_running on generations (thread_id) where ended_at is null;
create index generations_running on generations (server_id) where ended_at is null;
create index generations_by_thread on generations (thread_id);
