-- Search words of a skill that are not in its name and description.
alter table skills
    add column keywords jsonb not null default '[]' check (jsonb_typeof(keywords) = 'array');
