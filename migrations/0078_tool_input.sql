-- Tools may ask for input in the middle of a call: a cause of decisions.
alter table tool_approvals
    drop constraint tool_approvals_cause_check,
    add constraint tool_approvals_cause_check check (cause in ('rule', 'untrusted', 'unknown', 'input'));
