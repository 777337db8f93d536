-- Parts of statements about a single thread, as functions. A statement prepares the plans of all its parts, also of those
-- that it does not run; most threads belong to no project and have no files. PL/pgSQL keeps a function's plans, unlike SQL.

-- Whether a person may open a project.
create function may_open_project(organization uuid, person uuid, project uuid) returns boolean
language plpgsql stable as $$
begin
    return exists (select from projects_of(organization, person) a where a.project_id = project);
end
$$;

-- A thread's project and the name of the thread's owner, for clients. Null without a project.
create function project_of_thread(project uuid, owner uuid) returns jsonb language plpgsql stable strict as $$
begin
    return (select jsonb_build_object('ID', p.id, 'Name', p.name, 'Archived', p.archived_at is not null,
                                      'OwnerName', u.name)
            from projects p
            join users u on u.id = owner
            where p.id = project);
end
$$;

-- The files that are attached to a thread, for clients. Those of a private thread are its owner's.
create function sources_of_thread(thread uuid, owner uuid, shared boolean) returns jsonb language plpgsql stable as $$
begin
    return (select jsonb_agg(jsonb_build_object(
                'ID', d.id, 'Filename', d.filename, 'MediaType', d.media_type, 'Size', d.size,
                'SHA256', encode(d.sha256, 'base64'), 'Status', d.status, 'Failure', d.failure, 'Notice', d.notice,
                'PageCount', d.page_count, 'ChunkCount', d.chunk_count, 'Revision', d.revision,
                'CreatedAt', d.created_at) order by a.attached_at, d.id)
            from thread_data_sources a
            join data_sources d on d.id = a.data_source_id and (d.user_id = owner or shared)
            where a.thread_id = thread);
end
$$;

-- What the answers in a thread need to know of its project. Null without a project.
create function project_context(project uuid, thread uuid, shared boolean) returns jsonb language plpgsql stable strict as $$
begin
    return (select jsonb_build_object(
                'ID', p.id, 'Instructions', p.instructions, 'Archived', p.archived_at is not null, 'Shared', shared,
                'SourceOwners', case when shared then (
                    select jsonb_object_agg(d.id, coalesce(d.user_id, '00000000-0000-0000-0000-000000000000'))
                    from thread_data_sources a
                    join data_sources d on d.id = a.data_source_id
                    where a.thread_id = thread) end)
            from projects p
            where p.id = project);
end
$$;
