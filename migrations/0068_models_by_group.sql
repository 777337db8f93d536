-- Returns an organization's decisions about models without those that only members of other groups may choose.
create function member_models(models jsonb, member uuid) returns jsonb stable language sql as $$
    select case when jsonb_path_exists(models, '$.models[*].groups') then jsonb_set(models, '{models}', (
        select coalesce(jsonb_agg(m order by place), '[]')
        from jsonb_array_elements(models -> 'models') with ordinality as e (m, place)
        where not m ? 'groups' or exists (
            select from group_members g where g.user_id = member and m -> 'groups' ? g.group_id::text)
    )) else models end
$$;
