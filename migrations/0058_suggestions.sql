-- Questions that may follow an answer. Null: not generated. Empty: being generated, or there are none.
alter table messages add column suggestions text[];
