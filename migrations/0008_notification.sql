-- Each organization has notices of its own, every month, and reads none of the others'. For the foreign key as well.
create index notifications_by_organization on notifications (organization_id, published_at desc, id desc);
