package llm_test

import (
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestR26_FinishReasons: an answer succeeds only if its reason means that the model has finished or reached a limit.
// Any other reason is a failure that keeps the text.
func TestR26_FinishReasons(t *testing.T) {
	t.Parallel()
	for _, group := range []struct {
		reasons   string
		finish    llm.FinishReason
		code      fault.Code
		retryable bool
	}{
		{
			"stop STOP Stop end_turn END_TURN stop_sequence eos eos_token end_of_text eosFound complete COMPLETE " +
				"tool_calls tool_use function_call FINISH_REASON_STOP", llm.FinishStop, "", false,
		},
		{
			"length LENGTH max_tokens MAX_TOKENS Max_Tokens max-tokens model_length max_output_tokens " +
				"FINISH_REASON_MAX_TOKENS model_context_window_exceeded", llm.FinishLength, "", false,
		},
		{
			"content_filter CONTENT_FILTER SAFETY safety RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY " +
				"refusal sensitive guardrail_intervened content_filtered content_filter:SAFETY", "",
			llm.CodeFiltered, false,
		},
		{
			"abort insufficient_system_resource error ERROR OTHER LANGUAGE MALFORMED_FUNCTION_CALL " +
				"FINISH_REASON_UNSPECIFIED network_error load cancelled timeout stopp brand_new :", "",
			llm.CodeInterrupted, true,
		},
	} {
		for reason := range strings.FieldsSeq(group.reasons) {
			t.Run(reason, func(t *testing.T) {
				t.Parallel()
				provider := llmtest.NewProvider(t).Add(llmtest.Text("ここまで"), llmtest.Finish(reason), llmtest.Done())
				text, _, result, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), question())
				wantCode(t, err, group.code)
				if text != "ここまで" || result.FinishReason != group.finish || llm.Retryable(err) != group.retryable {
					t.Errorf("%q, finish %q, retryable %v", text, result.FinishReason, llm.Retryable(err))
				}
			})
		}
	}
}

// TestR24_AbortBeforeTheFirstToken: the client retries an answer that the server aborts before its first token.
func TestR24_AbortBeforeTheFirstToken(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t).
		Add(llmtest.Finish("insufficient_system_resource"), llmtest.Done()).
		Add(llmtest.Answer("二度目の回答です。")...)
	text, _, _, err := ask(t, newClient(t, llm.Config{BaseURL: provider.URL()}), question())
	if err != nil || text != "二度目の回答です。" {
		t.Errorf("%q %v", text, err)
	}
}
