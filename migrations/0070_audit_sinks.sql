-- Sending the audit log to the operator's SIEM (package siem).

create sequence audit_positions;

-- Positions are assigned after the commit of an event, by one transaction at a time. So a position becomes visible after
-- all lower ones, and a cursor skips no event whose transaction commits late. An event that changes gets a new position.
alter table audit_events
    add column position bigint,
    add column revision integer not null default 0; -- The number of changes of the event.
create unique index audit_events_by_position on audit_events (position) where position is not null;
create index audit_events_without_position on audit_events (at, id) where position is null;

create function audit_event_changed() returns trigger language plpgsql as $$
begin
    new.position := null;
    new.revision := old.revision + 1;
    return new;
end
$$;
create trigger audit_events_changed before update of times, details on audit_events
    for each row execute function audit_event_changed();

create table audit_sinks (
    name       text primary key,
    created_at timestamptz not null default now(), -- Older events are not sent.
    position   bigint not null, -- The cursor: events up to this position are not sent again.
    sent       bigint not null -- Events up to this position were sent. With syslog, the cursor is behind.
);
