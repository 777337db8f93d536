-- What an answer that proofreads a text should change in it, with the text as it was. It is as large as the text, of at
-- most 60,000 characters, and its changes.
alter table messages
    add column proofread jsonb check (jsonb_typeof(proofread) = 'object' and octet_length(proofread::text) <= 16777216);
