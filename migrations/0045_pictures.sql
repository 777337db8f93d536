-- Pictures that people add to their questions.

create table pictures (
    id              uuid primary key, -- And the name of its file: the thumbnail and, after that, the full form.
    organization_id uuid        not null,
    user_id         uuid        not null,
    request_id      uuid, -- Chosen by the client.
    media_type      text        not null check (media_type in ('image/jpeg', 'image/png')),
    width           integer     not null check (width > 0), -- Pixels.
    height          integer     not null check (height > 0),
    size            bigint      not null check (size > 0), -- Bytes of the full form.
    thumbnail_size  bigint      not null check (thumbnail_size > 0),
    created_at      timestamptz not null default now(),
    unique (organization_id, user_id, id),
    unique (user_id, request_id),
    foreign key (organization_id, user_id) references users (organization_id, id) on delete cascade
);
create index pictures_by_time on pictures (created_at);
create trigger pictures_loosen after delete on pictures for each row execute function loosen_file();

-- The pictures of questions. A picture goes with the last question that has it.
create table message_pictures (
    organization_id uuid    not null,
    user_id         uuid    not null, -- Whose pictures they are: nobody asks with somebody else's.
    message_id      uuid    not null,
    picture_id      uuid    not null,
    place           integer not null, -- From 1.
    primary key (message_id, picture_id),
    foreign key (organization_id, message_id) references messages (organization_id, id) on delete cascade,
    foreign key (organization_id, user_id, picture_id) references pictures (organization_id, user_id, id) on delete cascade
);
create index message_pictures_by_picture on message_pictures (picture_id);

create function drop_picture() returns trigger language plpgsql as $$
begin
    delete from pictures p
    where p.id = old.picture_id and not exists (select from message_pictures m where m.picture_id = p.id);
    return null;
end
$$;

create trigger message_pictures_drop after delete on message_pictures for each row execute function drop_picture();
