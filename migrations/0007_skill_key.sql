-- Skills and categories that operators import are known by keys of their own; built-in ones, without a key, by their ids,
-- which the program carries.

alter table categories
    add column organization_id uuid references organizations (id) on delete cascade, -- Null: for all.
    add column key             text check (key <> '');
create unique index categories_by_key on categories (organization_id, key) nulls not distinct where key is not null;

alter table skills
    add column key text check (key <> '');
create unique index skills_by_key on skills (organization_id, key) nulls not distinct where key is not null;
