-- A run is no longer counted from 1: it is drawn from the time when it begins, so that a run that is begun after a backup was
-- restored is never one that clients know from the future that was lost. How often an answer was begun is counted apart.
alter table generations
    alter column run drop default,
    add column attempts integer not null default 1 check (attempts > 0);
update generations set attempts = run;
