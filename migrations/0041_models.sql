-- Which model answers: the organization's decisions, and the model that wrote an answer -------------------------------------------

alter table organizations
    add column models jsonb not null default '{}' check (octet_length(models::text) <= 200000);

alter table messages
    add column model_id   text not null default '', -- The operator's id; of the chosen model until the answer ends.
    add column model_name text not null default '', -- What it was called then, '' if no model was asked.
    add column thinking   boolean;                  -- Whether the model was told to think, null for its default.
