-- Every question and every answer writes these indexes and looks up its foreign keys, while a person waits. A
-- generation is deleted with its message, which is deleted with its thread and its owner; a running one is looked up by
-- thread only.
alter table generations
    drop constraint generations_organization_id_thread_id_fkey,
    drop constraint generations_organization_id_user_id_fkey;
drop index generations_by_thread;
drop index generations_running;

-- Replaces two indexes: one for messages that are not replaced, one for the foreign key.
create index messages_of_thread on messages (thread_id, seq desc);
drop index messages_newest;
drop index messages_by_thread;
