package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"

	openai "github.com/sashabaranov/go-openai"
)

// The failures of a model. They are part of the API's contract: an error event carries one.
const (
	CodeTimeout       fault.Code = "model_timeout"        // Nothing arrived within the time limit.
	CodeRateLimited   fault.Code = "model_rate_limited"   // The provider refuses requests because of a rate limit.
	CodeQuota         fault.Code = "model_quota_exceeded" // The provider's account has no credit left.
	CodeAuth          fault.Code = "model_auth"           // The key is missing, wrong or not permitted.
	CodeUnavailable   fault.Code = "model_unavailable"    // The provider cannot be reached or failed.
	CodeInterrupted   fault.Code = "model_interrupted"    // The stream ended without a finish reason.
	CodeBadResponse   fault.Code = "model_bad_response"   // The provider sent something that is not an answer.
	CodeContextLength fault.Code = "model_context_length" // The conversation is longer than the model's context.
	CodeFiltered      fault.Code = "model_filtered"       // The provider's content filter intervened.
	CodeTooLong       fault.Code = "model_too_long"       // The response is longer than the limit.
	CodeNotFound      fault.Code = "model_not_found"      // The provider does not have the configured model.
	CodeBadRequest    fault.Code = "model_bad_request"    // The provider does not accept the request.
	CodeNotContinued  fault.Code = "model_not_continued"  // The model does not continue the request's Prefix.

	// CodeUnsupported is the prefix of the codes for a parameter refused by the model. The parameter's name follows.
	CodeUnsupported fault.Code = "model_unsupported_"
)

// Messages for the end user, each with a remedy.
const (
	detailSilent          = "AIモデルの応答が時間内に始まりませんでした。少し時間をおいて、もう一度お試しください。"
	detailStalled         = "AIモデルの応答が途中で止まりました。もう一度お試しください。"
	detailDeadline        = "回答の作成が時間内に終わりませんでした。もう一度お試しください。"
	detailRateLimited     = "AIモデルの利用が混み合っています。少し時間をおいて、もう一度お試しください。"
	detailQuota           = "AIモデルの利用枠を使い切りました。管理者にお知らせください。"
	detailAuth            = "AIモデルの認証に失敗しました。管理者に、APIキーの設定の確認を依頼してください。"
	detailUnavailable     = "AIモデルに接続できませんでした。少し時間をおいて、もう一度お試しください。"
	detailInterrupted     = "AIモデルの応答が途切れました。もう一度お試しください。"
	detailBadResponse     = "AIモデルの応答を読み取れませんでした。もう一度お試しください。続く場合は、管理者にお知らせください。"
	detailTooLong         = "AIモデルの応答が長すぎるため、途中で打ち切りました。質問を分けて、もう一度お試しください。"
	detailEmpty           = "AIモデルの回答が空でした。質問の表現を変えて、もう一度お試しください。"
	detailReasonedOnly    = "AIモデルが回答を生成できませんでした。もう一度お試しください。"
	detailReasonedTooLong = "AIモデルが検討の途中で長さの上限に達し、回答がありませんでした。質問を短くするか、分けてお試しください。"
	detailContextLength   = "チャットや文書が長すぎて、AIモデルが一度に読み取れません。文章を短くするか、新しいチャットでお試しください。"
	detailFiltered        = "AIモデルの安全基準により、回答を続けられませんでした。表現を変えて、もう一度お試しください。"
	detailNotFound        = "設定されているAIモデルが見つかりません。管理者に、モデル名の設定の確認を依頼してください。"
	detailBadRequest      = "AIモデルがこの依頼を受け付けませんでした。内容を変えてお試しください。続く場合は、管理者にお知らせください。"
	detailUnsupported     = "このスキルで使うAIモデルは、この %s を受け付けません。"
	detailCanceled        = "回答の作成を中止しました。"
)

// The causes of timed out attempts.
var (
	errFirstToken = errors.New("llm: no first token in time")
	errNextToken  = errors.New("llm: no further token in time")
)

// Retryable reports whether a retry may help. An error event sends this to the browser.
func Retryable(err error) bool {
	switch fault.CodeOf(err) {
	case CodeTimeout, CodeRateLimited, CodeUnavailable, CodeInterrupted, CodeBadResponse:
		return true
	default:
		return false
	}
}

// retriedByClient reports whether the client retries before the first token. It does so when the provider was busy,
// failed or unreachable, but not after a timeout, which has already taken a minute.
func retriedByClient(err error) bool {
	switch fault.CodeOf(err) {
	case CodeRateLimited, CodeUnavailable, CodeInterrupted:
		return true
	default:
		return false
	}
}

// fallbackHelps reports whether another model may answer. A wrong key must be visible to the operator, and a request
// refused by a content filter is not sent to the next model.
func fallbackHelps(err error) bool {
	switch fault.CodeOf(err) {
	case CodeTimeout, CodeRateLimited, CodeQuota, CodeUnavailable, CodeInterrupted, CodeBadResponse, CodeContextLength,
		CodeNotFound:
		return true
	default:
		return false
	}
}

// concernsAll reports whether the reason of an error applies to every request, not only to the failed one.
func concernsAll(err error) bool {
	switch fault.CodeOf(err) {
	case CodeTimeout, CodeQuota, CodeAuth, CodeUnavailable, CodeBadResponse, CodeNotFound:
		return true
	default:
		return false
	}
}

// statusError is a response of the provider with a status other than 200.
type statusError struct {
	status     int
	retryAfter time.Duration // 0 if not given.
	body       []byte        // The beginning of the body.
}

// Error implements error. Errors are logged, so it omits texts written by the provider, which may quote the key or the
// question.
func (e *statusError) Error() string {
	if said := parseProviderError(e.body); said != nil {
		return fmt.Sprintf("status %d: %v", e.status, said)
	}
	return fmt.Sprintf("status %d", e.status)
}

// mentions reports whether the provider's error contains a text, ignoring case.
func (e *statusError) mentions(text string) bool {
	return strings.Contains(strings.ToLower(string(e.body)), text)
}

// faultOfStatus translates a response with a status other than 200.
func faultOfStatus(e *statusError) error {
	detail := parseProviderError(e.body)
	if f := faultOfProviderError(detail, e); f != nil {
		return f
	}
	if seconds := int(e.retryAfter.Round(time.Second) / time.Second); seconds > 0 &&
		e.status == http.StatusTooManyRequests {
		return fault.Wrap(e, CodeRateLimited,
			"AIモデルの利用が混み合っています。約%s待ってから、もう一度お試しください。", japaneseDuration(seconds))
	}
	return faultOfCode(e.status, e)
}

// faultOfCode translates a status, of the response or named by an error object.
func faultOfCode(status int, cause error) error {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.Wrap(cause, CodeAuth, detailAuth)
	case status == http.StatusPaymentRequired:
		return fault.Wrap(cause, CodeQuota, detailQuota)
	case status == http.StatusNotFound:
		return fault.Wrap(cause, CodeNotFound, detailNotFound)
	case status == http.StatusTooManyRequests:
		return fault.Wrap(cause, CodeRateLimited, detailRateLimited)
	case status == http.StatusRequestEntityTooLarge:
		return fault.Wrap(cause, CodeContextLength, detailContextLength)
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return fault.Wrap(cause, CodeUnavailable, detailUnavailable)
	case status >= 400:
		return fault.Wrap(cause, CodeBadRequest, detailBadRequest)
	default: // A redirect, or a success without content: the server does not implement the API.
		return fault.Wrap(cause, CodeBadResponse, detailBadResponse)
	}
}

func japaneseDuration(seconds int) string {
	if seconds < 60 {
		return fmt.Sprintf("%d秒", seconds)
	}
	return fmt.Sprintf("%d分", (seconds+59)/60)
}

// providerError is an error object in any provider's form.
type providerError struct {
	message string
	kind    string // "type" of the error object.
	code    string
}

// Error implements error. It includes the type and the code only if they are known values, because the provider's texts
// may quote the key or the question.
func (e *providerError) Error() string {
	return fmt.Sprintf("provider error of type %q, code %q", known(e.kind), known(e.code))
}

// knownKinds are the types and codes of errors that OpenAI, Azure, Google, Anthropic and servers that imitate them
// send.
var knownKinds = []string{
	"invalid_request_error", "BadRequestError", "INVALID_ARGUMENT", "FAILED_PRECONDITION", "unsupported_value",
	"unsupported_parameter", "invalid_value", "context_length_exceeded", "exceed_context_size_error",
	"string_above_max_length",
	"authentication_error", "invalid_api_key", "UNAUTHENTICATED", "AuthenticationError", "permission_error",
	"permission_denied", "PERMISSION_DENIED", "PermissionDenied", "insufficient_permissions",
	"insufficient_quota", "billing_hard_limit_reached", "billing_error", "billing_not_active", "RESOURCE_EXHAUSTED",
	"rate_limit_error", "rate_limit_exceeded", "RateLimitReached", "requests", "tokens", "overloaded_error",
	"not_found", "not_found_error", "NotFoundError", "NOT_FOUND", "model_not_found", "DeploymentNotFound",
	"content_filter", "content_policy_violation", "api_error", "server_error", "internal_error",
	"internal_server_error", "InternalServerError", "INTERNAL", "UNAVAILABLE", "DEADLINE_EXCEEDED",
	"service_unavailable", "timeout", "timeout_error",
}

// known returns a type, code or status of an error if it is a known one or a number of three digits, and "other" for
// another text.
func known(text string) string {
	status, err := strconv.Atoi(text)
	if text == "" || err == nil && status >= 100 && status < 1000 || slices.Contains(knownKinds, text) {
		return text
	}
	return "other"
}

// parseProviderError parses the error in a body or in a chunk: {"error": {…}}, {"error": "…"} (Ollama), {"message":
// "…"} (vLLM) or [{"error": {…}}] (Gemini). It returns nil without an error.
func parseProviderError(body []byte) *providerError {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Object  string          `json:"object"`
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    any             `json:"code"`
	}
	_ = json.Unmarshal(body, &outer) // A partial result is enough.
	if len(outer.Error) > 0 && string(outer.Error) != "null" {
		return parseErrorObject(outer.Error)
	}
	if outer.Message != "" {
		return &providerError{message: outer.Message, kind: outer.Type, code: codeText(outer.Code)}
	}
	return nil
}

// parseFailure parses an event or a field called error.
func parseFailure(data []byte) *providerError {
	if e := parseProviderError(data); e != nil {
		return e
	}
	return parseErrorObject(data)
}

func parseErrorObject(raw json.RawMessage) *providerError {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return &providerError{message: text}
	}
	var api openai.APIError
	if err := json.Unmarshal(raw, &api); err != nil {
		return &providerError{message: string(raw[:min(len(raw), 500)])}
	}
	return &providerError{message: api.Message, kind: api.Type, code: codeText(api.Code)}
}

func codeText(code any) string {
	if code == nil {
		return ""
	}
	return fmt.Sprint(code)
}

// faultOfProviderError translates a specific error object. It returns nil if the status must decide. OpenAI and Azure
// set the code; other servers describe the error in the message only.
func faultOfProviderError(e *providerError, cause error) error {
	if e == nil {
		return nil
	}
	message := strings.ToLower(e.message)
	switch {
	case e.code == "context_length_exceeded", strings.Contains(message, "maximum context length"),
		strings.Contains(message, "context size"), strings.Contains(message, "context window"):
		return fault.Wrap(cause, CodeContextLength, detailContextLength)
	case e.code == "insufficient_quota", e.kind == "insufficient_quota", e.code == "billing_hard_limit_reached":
		return fault.Wrap(cause, CodeQuota, detailQuota)
	case e.code == "content_filter", e.code == "content_policy_violation":
		return fault.Wrap(cause, CodeFiltered, detailFiltered)
	case e.code == "invalid_api_key", e.kind == "authentication_error":
		return fault.Wrap(cause, CodeAuth, detailAuth)
	case e.code == "model_not_found", e.code == "DeploymentNotFound":
		return fault.Wrap(cause, CodeNotFound, detailNotFound)
	default:
		return nil
	}
}

// faultOfChunkError translates an error object inside a stream with status 200. Once text has been emitted, an
// unspecific error means an interrupted answer.
func faultOfChunkError(e *providerError, emitted bool) error {
	if f := faultOfProviderError(e, e); f != nil {
		return f
	}
	if status, err := strconv.Atoi(e.code); err == nil && status >= 400 && status < 500 {
		// OpenRouter, vLLM and llama.cpp send the equivalent status.
		return faultOfCode(status, e)
	}
	switch {
	case strings.Contains(e.kind, "rate_limit"), strings.Contains(e.code, "rate_limit"):
		return fault.Wrap(e, CodeRateLimited, detailRateLimited)
	case strings.Contains(e.kind, "invalid_request"):
		return fault.Wrap(e, CodeBadRequest, detailBadRequest)
	default:
		return interrupted(e, emitted)
	}
}

// Canceled returns the error of a Model whose caller has disconnected (fault.Canceled) or run out of time
// (CodeTimeout). It wraps ctx's error and its cause.
func Canceled(ctx context.Context) error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.Wrap(err, CodeTimeout, detailDeadline)
	}
	return fault.Wrap(err, fault.Canceled, detailCanceled)
}
