-- Each organization has its own notices, every month, and does not see those of others. Also for the foreign key.
create index notifications_by_organization on notifications (organization_id, published_at desc, id desc);
