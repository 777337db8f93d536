-- Parts of statements about a single skill, as functions for the reason of 0077_thread_columns.sql: skills of the product
-- have no documents and no restricted audience.

-- Whether a skill with a restricted audience may be used by a person.
create function is_in_audience(skill uuid, person uuid) returns boolean language plpgsql stable as $$
begin
    return exists (select from skill_members u where u.skill_id = skill and u.user_id = person)
        or exists (select from skill_groups k join group_members u on u.group_id = k.group_id
                   where k.skill_id = skill and u.user_id = person);
end
$$;

-- The documents of a skill in their order, with their owners. A document that only skills use has no owner.
create function documents_of_skill(skill uuid) returns jsonb language plpgsql stable as $$
begin
    return (select coalesce(jsonb_agg(jsonb_build_object('ID', d.id, 'OwnerID', d.user_id) order by k.place), '[]')
            from skill_documents k
            join data_sources d on d.id = k.data_source_id
            where k.skill_id = skill);
end
$$;

-- The number of documents that a version of a skill was saved with and that the skill no longer has. The rows of a skill
-- are its current documents.
create function missing_documents(skill uuid, saved int) returns int language plpgsql stable as $$
begin
    return (select count(*)
            from skill_versions v
            cross join jsonb_array_elements_text(v.content -> 'document_ids') as w (id)
            where v.skill_id = skill and v.version = saved
              and not exists (select from skill_documents k where k.skill_id = skill and k.data_source_id = w.id::uuid));
end
$$;

-- Whether a thread's project is archived.
create function is_archived_project(project uuid) returns boolean language plpgsql stable as $$
begin
    return exists (select from projects p where p.id = project and p.archived_at is not null);
end
$$;
