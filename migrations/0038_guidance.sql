-- What every skill is told beside its own prompt: by the organization, and by each person about themselves ------------------------

alter table organizations
    add column instructions text not null default '' check (char_length(instructions) <= 4000);

create table profiles (
    user_id         uuid primary key,
    organization_id uuid        not null,
    name            text        not null check (char_length(name) <= 100), -- That the person wants to be called by.
    department      text        not null check (char_length(department) <= 100),
    tone            text        not null check (char_length(tone) <= 500), -- How answers should sound.
    signature       text        not null check (char_length(signature) <= 500), -- Of what is written for the person.
    updated_at      timestamptz not null default now(),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
