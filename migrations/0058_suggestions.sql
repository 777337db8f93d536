-- Questions that may follow an answer. Null: not generated. Empty: being generated, or there are none.
alter table messages add column suggestions text[];

-- Whether members may dictate in browsers that send the audio to a service.
alter table organizations add column dictation_service boolean not null default false;
