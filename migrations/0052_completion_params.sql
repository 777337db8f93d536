-- Threads first: that is the order in which running servers lock the tables.
-- Instructions for all answers of a thread, in addition to those of its skill.
alter table threads add column instructions text not null default '';

-- The optional parameters of the answer to a question, such as its length or a JSON schema: chat.Params. NULL for none.
-- The type is json and not jsonb, which would reorder the properties of a schema, and with them those of the answer.
alter table messages add column params json;
