-- Every server listens, and notifies its connected members.

create function tell_of_notification() returns trigger language plpgsql as $$
begin
    perform pg_notify('tsumugi_notification', new.id::text);
    return null;
end
$$;

create trigger notifications_tell after insert on notifications
    for each row execute function tell_of_notification();
