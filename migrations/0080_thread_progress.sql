-- What a question needs of the messages of its thread, as functions for the reason of 0077_thread_columns.sql: a new thread
-- has none. Their plans do not depend on the parameters: making one for each call takes longer than the query.

-- The state of a thread that has messages, for a question of a person that follows an answer. Known is whether the person's
-- request has begun an answer before. A subquery with an offset is not merged into the query: PostgreSQL cannot estimate how
-- many messages a thread has, and might read all of them.
create function thread_progress(thread uuid, answer uuid, person uuid, request uuid) returns jsonb
language plpgsql stable set plan_cache_mode to force_generic_plan as $$
begin
    return (select jsonb_build_object(
        'Running', exists (select from generations g where g.thread_id = thread and g.ended_at is null),
        'Waiting', exists (select from waiting_questions w where w.thread_id = thread),
        'Known', exists (select from generations g where g.user_id = person and g.request_id = request),
        'Leaf', (select m.id from (select * from messages q where q.id = answer offset 0) m
                 where m.thread_id = thread and m.role = 'assistant')));
end
$$;

-- Whether a question in a thread had files, which may have been deleted since.
create function had_sources(thread uuid) returns boolean language plpgsql stable as $$
begin
    return exists (select from messages m where m.thread_id = thread and cardinality(m.data_source_ids) > 0);
end
$$;

-- Whether a message is sent to the model: a question, or a complete answer with text or calls of tools.
create function is_sent_to_model(m messages) returns boolean language sql immutable
return m.role = 'user'
    or m.role = 'assistant' and m.completed_at is not null and (m.content <> '' or m.tool_calls is not null);

-- The messages of a branch that are sent to the model, newest first: up to an answer, or to the end of the branch that was
-- shown last, at most so many and so many bytes. It sums the sizes before it reads any text.
create function history_of_thread(organization uuid, person uuid, thread uuid, answer uuid, max_messages int,
                                  max_bytes bigint, calls boolean)
returns table (id uuid, role text, content text, prompt text, tool_calls jsonb, pictures jsonb)
language plpgsql stable set plan_cache_mode to force_generic_plan as $$
#variable_conflict use_column
begin
    answer := coalesce(answer, (select t.leaf_id from threads t where t.id = thread));
    if answer is null then
        return;
    end if;
    return query
        with recursive branch as (
            select m.*, m.sent::int as count
            from threads t
            cross join lateral (
                select q.id, q.thread_id, q.parent_id, q.seq, q.role, q.content, q.prompt, q.tool_calls,
                       is_sent_to_model(q) as sent
                from messages q
                where q.id = answer
                offset 0) m
            where t.id = thread and m.thread_id = t.id and t.organization_id = organization
              and (t.user_id = person or t.visibility = 'project')
            union all
            select m.*, b.count + m.sent::int
            from branch b
            cross join lateral (
                select q.id, q.thread_id, q.parent_id, q.seq, q.role, q.content, q.prompt, q.tool_calls,
                       is_sent_to_model(q) as sent
                from messages q
                where q.id = b.parent_id
                offset 0) m
            where b.count < max_messages
        )
        select m.id, m.role, m.content, m.prompt, m.calls, (
            select coalesce(jsonb_agg(jsonb_build_object(
                       'ID', p.id, 'Width', p.width, 'Height', p.height, 'MediaType', p.media_type, 'Size', p.size,
                       'ThumbnailSize', p.thumbnail_size) order by mp.place), '[]')
            from message_pictures mp
            join pictures p on p.organization_id = mp.organization_id and p.id = mp.picture_id
            where mp.message_id = m.id)
        from (select b.id, b.seq, b.role, b.content, b.prompt, case when calls then b.tool_calls end as calls,
                     sum(octet_length(coalesce(nullif(b.prompt, ''), b.content)) +
                         case when calls then coalesce(octet_length(b.tool_calls::text), 0) else 0 end)
                         over (order by b.seq desc) as bytes
              from branch b
              where b.sent) m
        where m.bytes <= max_bytes
        order by m.seq desc;
end
$$;
