-- Skills and categories that operators import are identified by keys; built-in ones, without a key, by their ids, which
-- are part of the program.

alter table categories
    add column organization_id uuid references organizations (id) on delete cascade, -- Null: for all.
    add column key             text check (key <> '');
create unique index categories_by_key on categories (organization_id, key) nulls not distinct where key is not null;

alter table skills
    add column key text check (key <> '');
create unique index skills_by_key on skills (organization_id, key) nulls not distinct where key is not null;
