-- What administrators see of a rating: the rating alone, as of those from before they saw any; with it the comment; or
-- also the name of the person, the question and the answer, which are not copied: they go with the thread.
alter table message_feedback
    add column shows text not null default 'rating' check (shows in ('rating', 'comment', 'text'));
alter table message_feedback alter column shows drop default;
create index message_feedback_newest on message_feedback (organization_id, updated_at desc, message_id desc);
