-- Sign-ins in the audit log, and the devices that people sign in on ---------------------------------------------------------

alter table audit_events drop constraint audit_events_actor_kind_check;
alter table audit_events
    -- "unknown" is an actor who was not authenticated, for example one with a wrong password.
    add constraint audit_events_actor_kind_check check (actor_kind in ('user', 'operator', 'system', 'unknown')),
    add column sign_in boolean not null generated always as (action like 'session.%' or action like 'password.%') stored,
    add column searched text not null generated always as
        (lower(normalize(actor_name || ' ' || actor_email || ' ' || target_label, nfkc))) stored,
    -- Events that anybody can cause are one entry per hour, account and address, with their number and the last time.
    add column tally   bytea unique check (octet_length(tally) = 32),
    add column times   integer not null default 1 check (times > 0),
    add column last_at timestamptz;
create index audit_events_of_sign_ins on audit_events (organization_id, at desc, id desc) where sign_in;
create index audit_events_by_action on audit_events (organization_id, action, at desc, id desc);
create index audit_events_of_others on audit_events (organization_id, at desc, id desc) where not sign_in;

-- The known devices of a user, so that a sign-in on a new one can be announced to its owner.
create table pool_devices (
    sub     uuid        not null references pool_users (sub) on delete cascade,
    device  bytea       not null check (octet_length(device) = 32), -- SHA-256.
    seen_at timestamptz not null,
    primary key (sub, device)
);
