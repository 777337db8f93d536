-- The order in which an organization shows the categories of skills, its own and those of all organizations. A category
-- without a place stands by its position.

create table category_places (
    organization_id uuid    not null references organizations (id) on delete cascade,
    category_id     uuid    not null references categories (id) on delete cascade,
    place           integer not null check (place > 0),
    primary key (organization_id, category_id)
);
create index category_places_by_category on category_places (category_id);
