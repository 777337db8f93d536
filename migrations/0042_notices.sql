-- Notices that an organization's administrators write, and when notices end.
alter table notifications
    add column ends_at      timestamptz, -- Null: never.
    add column request_id   uuid, -- The call of the administrator who wrote it. Null: an operator's, or the server's.
    add column request_hash bytea check (octet_length(request_hash) = 32),
    add check (ends_at >= published_at),
    add check ((request_id is null) = (request_hash is null)),
    add check (request_id is null or organization_id is not null),
    add unique (organization_id, request_id);

create trigger notifications_tell_change after update on notifications
    for each row execute function tell_of_notification();
