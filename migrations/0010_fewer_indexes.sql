-- Every question and every answer writes into these indexes and looks its foreign keys up, while somebody waits. A
-- generation goes with its message, which goes with its thread and its owner; what goes on is found by thread or not at all.
alter table generations
    drop constraint generations_organization_id_thread_id_fkey,
    drop constraint generations_organization_id_user_id_fkey;
drop index generations_by_thread;
drop index generations_running;

-- Takes the place of two: one for those that are not replaced, one for the foreign key.
create index messages_of_thread on messages (thread_id, seq desc);
drop index messages_newest;
drop index messages_by_thread;
