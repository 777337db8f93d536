-- What a model has noted of parts of documents, so that a summary that is begun again, or asked for again, pays once.
create table summary_notes (
    organization_id uuid        not null,
    user_id         uuid        not null,
    key             bytea       not null check (octet_length(key) = 32), -- Hash of model, instructions and part.
    note            text        not null,
    noted_at        timestamptz not null default now(),
    primary key (user_id, key),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index summary_notes_by_age on summary_notes (noted_at);
