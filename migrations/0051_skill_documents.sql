-- Documents of shared skills belong to the skills: a data source exists as long as a person owns it (user_id) or a skill
-- of the organization uses it. Deleting the file, or the member, takes away the person alone.
alter table data_sources alter column user_id drop not null;

create view shared_documents as
    select k.organization_id, k.data_source_id, k.skill_id, k.place
    from skill_documents k
    join skills s on s.id = k.skill_id
    where s.owner_id is null;

-- Runs with the row locked: a skill that is saved meanwhile has either referred to the row before, or fails to.
create function keep_shared_document() returns trigger language plpgsql as $$
begin
    if not exists (select from shared_documents k where k.data_source_id = old.id) then
        return old;
    end if;
    delete from thread_data_sources where data_source_id = old.id;
    delete from skill_documents k using skills s
    where k.data_source_id = old.id and s.id = k.skill_id and s.owner_id = old.user_id;
    update data_sources set user_id = null, revision = revision + 1 where id = old.id;
    return null;
end
$$;

create trigger data_sources_keep_shared before delete on data_sources
    for each row when (old.user_id is not null) execute function keep_shared_document();

create function drop_unowned_document() returns trigger language plpgsql as $$
begin
    perform from data_sources where id = old.data_source_id for no key update; -- One of several at a time.
    delete from data_sources d
    where d.id = old.data_source_id and d.user_id is null
      and not exists (select from shared_documents k where k.data_source_id = d.id);
    return null;
end
$$;

-- Deferred: saving a skill removes all its documents and adds them again.
create constraint trigger skill_documents_drop_unowned after delete on skill_documents
    deferrable initially deferred for each row execute function drop_unowned_document();
