-- A run is no longer counted from 1 but derived from the time when it begins, so that a run after the restore of a
-- backup is never one that clients know from the lost period. The number of attempts is counted separately.
alter table generations
    alter column run drop default,
    add column attempts integer not null default 1 check (attempts > 0);
update generations set attempts = run;
