package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/project"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

// statuses maps codes to HTTP statuses. A missing code is internal.
var statuses = map[fault.Code]int{
	fault.Invalid:                 http.StatusBadRequest,
	fault.Unauthenticated:         http.StatusUnauthorized,
	identity.SSORequired:          http.StatusUnauthorized,
	identity.AddressRefused:       http.StatusForbidden,
	identity.RecentSignInRequired: http.StatusForbidden,
	fault.Forbidden:               http.StatusForbidden,
	fault.NotFound:                http.StatusNotFound,
	fault.Conflict:                http.StatusConflict,
	fault.ThreadBusy:              http.StatusConflict,
	fault.ReadOnly:                http.StatusForbidden,
	fault.QueueFull:               http.StatusConflict,
	fault.RequestConflict:         http.StatusConflict,
	fault.SkillUnavailable:        http.StatusConflict,
	fault.NoSeat:                  http.StatusConflict,
	fault.TokenLimit:              http.StatusForbidden,
	fault.MemberLimit:             http.StatusForbidden,
	fault.ContractEnded:           http.StatusForbidden,
	fault.TooLarge:                http.StatusRequestEntityTooLarge,
	fault.RateLimited:             http.StatusTooManyRequests,
	chat.SourcesDeleted:           http.StatusConflict,
	chat.SourcesNotAccepted:       http.StatusBadRequest,
	chat.PicturesNotAccepted:      http.StatusBadRequest,
	chat.ModelNotAllowed:          http.StatusBadRequest,
	chat.ConfirmationRequired:     http.StatusConflict,
	fault.StorageFull:             http.StatusInsufficientStorage,
	fault.StorageLimit:            http.StatusConflict,
	fault.Unavailable:             http.StatusServiceUnavailable,
	fault.Canceled:                http.StatusServiceUnavailable,
	project.CodeVersion:           http.StatusConflict,
	project.CodeLastManager:       http.StatusConflict,
	project.CodeByGroup:           http.StatusConflict,
	sso.CodeDisabled:              http.StatusConflict,
	sso.CodeState:                 http.StatusBadRequest,
	sso.CodeResponse:              http.StatusBadRequest,
	sso.CodeDenied:                http.StatusForbidden,
	sso.CodeUnavailable:           http.StatusServiceUnavailable,
	sso.CodeAddress:               http.StatusForbidden,
	sso.CodeNotLinked:             http.StatusForbidden,
	sso.CodeInactive:              http.StatusForbidden,
	sso.CodeLinked:                http.StatusForbidden,
	sso.CodeNoPassword:            http.StatusForbidden,
	workspace.CodeOtherPerson:     http.StatusForbidden,
	workspace.CodeNotMember:       http.StatusForbidden,
	workspace.CodeTaken:           http.StatusConflict,
	workspace.CodeDenied:          http.StatusForbidden,
	workspace.CodeState:           http.StatusBadRequest,
	workspace.CodeSetup:           http.StatusConflict,
	toolserver.CodeState:          http.StatusBadRequest,
	toolserver.CodeDenied:         http.StatusForbidden,
	toolserver.CodeSetup:          http.StatusConflict,
	codeMethod:                    http.StatusMethodNotAllowed,
	fault.UnsupportedType:         http.StatusUnsupportedMediaType,
	codeUpgrade:                   http.StatusUpgradeRequired,
	codeScope:                     http.StatusForbidden,
	openai.UnknownModel:           http.StatusNotFound,
	openai.UnknownParameter:       http.StatusBadRequest,
	openai.UnsupportedParameter:   http.StatusBadRequest,
	openai.MissingParameter:       http.StatusBadRequest,
	openai.InvalidType:            http.StatusBadRequest,
	openai.InvalidValue:           http.StatusBadRequest,
}

// Codes of the HTTP layer.
const (
	codeMethod  fault.Code = "method_not_allowed"
	codeUpgrade fault.Code = "upgrade_required"
	codeScope   fault.Code = "insufficient_scope" // RFC 6750, section 3.1.
)

// Messages for internal errors and overload.
const (
	internalDetail = "サーバーで問題が発生しました。時間をおいて、もう一度お試しください。"
	busyDetail     = "ただいま混み合っています。少し時間をおいて、もう一度お試しください。"
)

// Bounds of the random retry delay, which prevents refused clients from returning at the same time.
const (
	retryMin = 2 // In seconds.
	retryMax = 10
)

// retryAfter returns the number of seconds until a refused client may retry.
func retryAfter(err error) string {
	seconds := retryMin + rand.N(retryMax-retryMin+1) //nolint:gosec // Spreads clients; no secret.
	if after := fault.RetryAfterOf(err); after > 0 {
		seconds = int(math.Ceil(after.Seconds()))
	}
	return strconv.Itoa(seconds)
}

// writeProblem writes an error as a problem document (RFC 9457) or, in a sign-in step that a browser shows as a page,
// as a redirect to the app.
func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	problem := s.problem(r, err)
	if navigates(r) {
		_ = signInFailed(w, r, problem) // Always returns nil.
		return
	}
	h := w.Header()
	switch problem.Status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", s.challenge(r, problem))
	case http.StatusForbidden:
		if problem.Code == string(codeScope) && r.URL.Path == mcpPath {
			h.Set("WWW-Authenticate", s.challenge(r, problem))
		}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		h.Set("Retry-After", retryAfter(err))
	}
	if openAI(r.URL.Path) {
		_ = writeOpenAIError(w, problem) // It can always be encoded.
		return
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(problem.Status)
	_ = json.NewEncoder(w).Encode(problem) // The client may have disconnected.
}

// problem translates an error. Internal errors are logged and not shown.
func (s *Server) problem(r *http.Request, err error) Problem {
	gone := errors.Is(err, context.Canceled) && r.Context().Err() != nil
	if gone {
		// The client has disconnected, or this server is stopping and another one will answer.
		err = fault.Wrap(err, fault.Unavailable, "サーバーを再起動しています。少し時間をおいて、もう一度お試しください。")
	}
	code := fault.CodeOf(err)
	if code == fault.Internal && errors.Is(err, context.DeadlineExceeded) {
		code, err = fault.Unavailable, fault.Wrap(err, fault.Unavailable, busyDetail)
	}
	status, known := statuses[code]
	problem := Problem{
		Type: "about:blank", Code: string(code), Detail: fault.DetailOf(err),
		RequestID: requestID(r.Context()), TraceID: traceID(r.Context()),
		Errors: convert(fault.FieldsOf(err), func(f fault.FieldError) FieldError { return FieldError(f) }),
	}
	if refused, ok := errors.AsType[*ratelimit.Error](err); ok {
		problem.Limit = string(refused.Kind)
	}
	if busy, ok := errors.AsType[*busy](err); ok {
		problem.MessageID = busy.messageID
	}
	if costly, ok := errors.AsType[*chat.CostError](err); ok {
		problem.EstimatedTokens = costly.Tokens
	}
	if outdated, ok := errors.AsType[*project.VersionError](err); ok {
		problem.Current = new(toProject(outdated.Current))
	}
	if !known {
		status, problem.Code, problem.Detail = http.StatusInternalServerError, string(fault.Internal), internalDetail
	}
	if problem.Detail == "" && (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) {
		problem.Detail = busyDetail
	}
	if status >= http.StatusInternalServerError && !gone {
		s.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	problem.Status, problem.Title = status, http.StatusText(status)
	return problem
}

// writeJSON answers a record.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // The client may have disconnected.
	return nil
}

func writeNoContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// noRoute is the error for an unknown path of the API.
func noRoute() error {
	return fault.Errorf(fault.NotFound, "ページまたは機能が見つかりません。")
}

// noMethod is the error for a path with other methods, or for an unknown path, because the app accepts GET for every
// path.
func noMethod(routes chi.Routes, w http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		found := chi.NewRouteContext()
		if routes.Match(found, method, r.URL.Path) && found.RoutePattern() != "/*" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		return noRoute()
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return fault.Errorf(codeMethod, "この操作には対応していません。")
}
