-- The data sources that a question is answered from: a takeover, and another answer to the same question, use the same ones. They may have been deleted since.
alter table messages add column data_source_ids uuid[] not null default '{}';
