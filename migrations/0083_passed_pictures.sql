-- A picture in a shared thread stays when its owner is removed: it passes to the owner of the thread, and its uses follow.
alter table message_pictures
    drop constraint message_pictures_organization_id_user_id_picture_id_fkey,
    add constraint message_pictures_organization_id_user_id_picture_id_fkey
        foreign key (organization_id, user_id, picture_id) references pictures (organization_id, user_id, id)
        on update cascade on delete cascade;
