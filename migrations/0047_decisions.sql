-- What the owner of a proofreading has decided about its changes, by their ids in messages.proofread.
create table message_decisions (
    organization_id uuid        not null,
    message_id      uuid        primary key,
    accepted        integer[]   not null check (cardinality(accepted) <= 100000),
    refused         integer[]   not null check (cardinality(refused) <= 100000),
    updated_at      timestamptz not null default now(),
    foreign key (organization_id, message_id) references messages (organization_id, id) on delete cascade
);
