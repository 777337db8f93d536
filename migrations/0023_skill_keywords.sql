-- Words under which a skill is found although its name and description do not have them.
alter table skills
    add column keywords jsonb not null default '[]' check (jsonb_typeof(keywords) = 'array');
