-- The first question is a thread's title until one has been generated, or set by its owner.
alter table threads add column title_provisional boolean not null default false;
