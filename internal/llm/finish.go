package llm

import (
	"fmt"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// finishFiltered is a finish reason that means failure.
const finishFiltered FinishReason = "filtered"

// finishReasons maps the servers' finish reasons, in lower case. Any other reason (abort, error,
// insufficient_system_resource, load, …) means that the answer is incomplete.
var finishReasons = map[string]FinishReason{
	// OpenAI, Anthropic, TGI
	"stop": FinishStop, "stop_sequence": FinishStop, "stop_string": FinishStop, "stop_token": FinishStop,
	"end_turn": FinishStop, "end": FinishStop, "eos": FinishStop, "eos_token": FinishStop, "end_of_text": FinishStop,
	"eosfound": FinishStop, "stopstringfound": FinishStop, // LM Studio
	"complete": FinishStop, "completed": FinishStop, "done": FinishStop, // Cohere, gateways
	"tool_calls": FinishTools, "tool_call": FinishTools, "tool_use": FinishTools, "function_call": FinishTools,
	"toolcalls": FinishTools,

	"length": FinishLength, "max_tokens": FinishLength, "max_output_tokens": FinishLength,
	"max_completion_tokens": FinishLength,
	"max_new_tokens":        FinishLength, "max_length": FinishLength, "model_length": FinishLength,
	"limit":                         FinishLength,
	"model_context_window_exceeded": FinishLength, "contextlengthreached": FinishLength,
	"maxpredictedtokensreached": FinishLength,

	"content_filter": finishFiltered, "content_filtered": finishFiltered, "safety": finishFiltered,
	"image_safety": finishFiltered,
	"recitation":   finishFiltered, "blocklist": finishFiltered, "prohibited_content": finishFiltered,
	"spii":    finishFiltered,
	"refusal": finishFiltered, "sensitive": finishFiltered, "guardrail_intervened": finishFiltered,
	"moderation": finishFiltered,
}

// readFinish translates a server's finish reason, "" for an unknown one. Some servers add a detail after a colon.
func readFinish(reason string) FinishReason {
	name, _, _ := strings.Cut(strings.ToLower(reason), ":")
	name = strings.TrimPrefix(strings.TrimSpace(name), "finish_reason_")
	return finishReasons[strings.ReplaceAll(name, "-", "_")]
}

// takeFinish records the server's finish reason.
func (a *answer) takeFinish(reason string) error {
	switch finish := readFinish(reason); finish {
	case FinishStop, FinishLength, FinishTools:
		a.endText()
		a.endCalls(finish)
		a.send()
		a.tokenReceived = false
		a.arm(min(tailTimeout, a.run.client.cfg.TokenTimeout))
		return nil
	case finishFiltered:
		return fault.Wrap(errFiltered, CodeFiltered, detailFiltered)
	}
	a.send()
	return interrupted(fmt.Errorf("llm: the server ended the answer with %.40q", reason), a.run.emitted)
}
