-- A thread is a tree: each message has a parent, except for a question that begins the thread. Messages with the same
-- parent are alternatives. A linear thread with replaced answers becomes a chain with those answers as alternatives.
alter table messages
    drop constraint messages_check2,
    add column form jsonb check (jsonb_typeof(form) = 'object'); -- Of a question that a form asked: its values.
alter table messages rename column question_id to parent_id;
alter table messages rename constraint messages_organization_id_question_id_fkey to messages_organization_id_parent_id_fkey;
alter index messages_by_question rename to messages_by_parent;

update messages m
set parent_id = line.before
from (select id, lag(id) over (partition by thread_id order by seq) as before
      from messages
      where replaced_by is null) line
where m.id = line.id and m.role <> 'assistant' and line.before is not null;
alter table messages add constraint messages_answer_follows check (role <> 'assistant' or parent_id is not null);

-- The end of the branch that was shown last, null before the first question. It is always an answer without children.
-- There is no foreign key: a message is deleted only with its thread, and would have to be looked up here.
alter table threads add column leaf_id uuid;
update threads t
set leaf_id = (select m.id
               from messages m
               where m.thread_id = t.id and m.replaced_by is null
               order by m.seq desc
               limit 1);

drop index messages_by_replacement;
alter table messages drop column replaced_by;
