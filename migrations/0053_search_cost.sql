-- When a text was queued: it is indexed once its thread has been quiet for some seconds, so that a burst of answers does
-- not compete with it for the database.
alter table search_pending add column queued_at timestamptz not null default now();

-- With a short list of pending entries, an insert writes its keys at once, and many are sorted into the index together:
-- without it, an entry wrote 461 WAL records. A search reads the list, so it is kept short.
alter index search_entries_keys set (fastupdate = on, gin_pending_list_limit = 512);
