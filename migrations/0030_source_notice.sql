-- A text for people about the unreadable parts of a processed data source: pages that are pictures.
alter table data_sources add column notice text not null default '';
