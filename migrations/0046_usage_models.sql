-- Usage by model ------------------------------------------------------------------------------------------------------------------

-- What usage_daily counts, by the model that it was spent on: '' where that is not known. A person's rows are locked in
-- the order of usage_daily and then this table.
create table usage_models (
    organization_id uuid    not null references organizations (id) on delete cascade,
    date            date    not null,
    user_id         uuid    not null,
    model_id        text    not null,
    messages        integer not null,
    input_tokens    bigint  not null,
    output_tokens   bigint  not null,
    primary key (organization_id, date, user_id, model_id)
) with (fillfactor = 70);

insert into usage_models (organization_id, date, user_id, model_id, messages, input_tokens, output_tokens)
select organization_id, date, user_id, '', messages, input_tokens, output_tokens
from usage_daily;
