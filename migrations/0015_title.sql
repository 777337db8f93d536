-- A thread is called by its first question until a title was made of it, or given by its owner.
alter table threads add column title_provisional boolean not null default false;
