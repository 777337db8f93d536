-- What could not be read of a data source that was read, as a person understands it: pages that are pictures.
alter table data_sources add column notice text not null default '';
