package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/scope"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// handler handles a request or returns an error.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle writes the error of a handler as a problem. The handler must not have begun its response.
func (s *Server) handle(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.writeProblem(w, r, err)
		}
	}
}

// Time limits for a client to send a body and to receive a response, and for the database calls of a call. For streams,
// and calls that wait for an answer, only the database calls are limited; streams have separate write deadlines.
const (
	bodyTimeout   = 30 * time.Second
	answerTimeout = 2 * time.Minute
	callTimeout   = 5 * time.Second

	slackCallTimeout = 20 * time.Second // Includes the time for several calls of Slack.
	toolCallTimeout  = 25 * time.Second // Includes the time for discovering a server and its authorization server.
	scimCallTimeout  = 20 * time.Second // For a group with all members of a large organization.
)

// withTimeLimit bounds a call, so that it is answered while its client still waits.
func withTimeLimit(next http.Handler) http.Handler { return limitTime(callTimeout, next) }

// withSlackLimit is withTimeLimit for calls that call Slack.
func withSlackLimit(next http.Handler) http.Handler { return limitTime(slackCallTimeout, next) }

// withToolLimit is withTimeLimit for calls that call tool servers.
func withToolLimit(next http.Handler) http.Handler { return limitTime(toolCallTimeout, next) }

// withSCIMLimit is withTimeLimit for calls of identity providers.
func withSCIMLimit(next http.Handler) http.Handler { return limitTime(scimCallTimeout, next) }

func limitTime(limit time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// withBodyDeadline disconnects clients that do not send the announced body. It clears the deadline at the end of the
// body, because the server continues to read the connection to detect that the client disconnects.
func withBodyDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			rc := http.NewResponseController(w)
			if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, rc: rc}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// withWriteDeadline disconnects clients that do not read the response. A handler that hijacks the connection or writes
// for longer extends the deadline.
func withWriteDeadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		moveWriteDeadline(w)
		next.ServeHTTP(w, r)
	})
}

func moveWriteDeadline(w http.ResponseWriter) {
	// A connection without deadlines cannot block.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
}

// timedBody is a body with a read deadline.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.rc.SetReadDeadline(time.Time{}) // It succeeded before.
	}
	return n, err
}

type requestIDKey struct{}

// requestID returns the id of the context's request, or "".
func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// withRequestID sets the request id: the client's if it is well-formed, else a new one.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !wellFormedRequestID(id) {
			id = uuidv7.New().String()
		}
		w.Header().Set("X-Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id)))
	})
}

// wellFormedRequestID reports whether an id has 1–64 characters that are safe in a header and a log.
func wellFormedRequestID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// withLog logs, measures and traces each request, without its content. It skips the app's files and health checks.
func (s *Server) withLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		method := knownMethod(r.Method)
		ctx, span := r.Context(), trace.Span(noop.Span{})
		if traced(r.URL.Path) {
			ctx, span = s.Tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer))
		}
		defer span.End()
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer s.logRequest(ctx, ww, method, poolOperation(r), began) // Deferred for a stream that a panic aborts.
		next.ServeHTTP(ww, r.WithContext(ctx))
	})
}

// logRequest writes the log line of a request and completes its span.
func (s *Server) logRequest(ctx context.Context, ww middleware.WrapResponseWriter, method, operation string,
	began time.Time,
) {
	route := chi.RouteContext(ctx).RoutePattern()
	switch route {
	case "/*", "/healthz", "/readyz", "/ping", "/metrics":
		return
	}
	took := time.Since(began)
	if ww.Header().Get("Content-Type") != "text/event-stream" && ww.Status() != http.StatusSwitchingProtocols {
		s.Measure(method, route, ww.Status(), took)
	}
	span := trace.SpanFromContext(ctx)
	span.SetName(cmp.Or(operation, method+" "+route))
	span.SetAttributes(attribute.String("http.route", route), attribute.Int("http.response.status_code", ww.Status()))
	attrs := []slog.Attr{
		slog.String("method", method), slog.String("route", route), slog.Int("status", ww.Status()),
		slog.Int("bytes", ww.BytesWritten()),
		slog.Int64("ms", took.Milliseconds()), slog.Any("address", clientAddress(ctx)),
	}
	if operation != "" {
		attrs = append(attrs, slog.String("operation", operation))
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
}

// knownMethod returns a request's method, or "other" for an unknown one, because each would create a separate time
// series.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	}
	return "other"
}

// traced reports whether a path is an API call and not a file.
func traced(path string) bool {
	return strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/external/") ||
		strings.HasPrefix(path, "/pool/") || strings.HasPrefix(path, "/scim/") || path == mcpPath
}

// withRecovery answers a panic with a problem and logs its stack.
func (s *Server) withRecovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				s.writeProblem(w, r, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// withSecurityHeaders sets the headers of every response. Pages add their content security policy.
func (s *Server) withSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

// withHead routes HEAD to GET. net/http omits the body.
func withHead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			chi.RouteContext(r.Context()).RouteMethod = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// withActor authenticates a request and refuses it if that fails.
func (s *Server) withActor(next http.Handler) http.Handler {
	return s.authenticate(next, (*http.Request).Context)
}

// withAsker is withActor for questions. It reads the ids in the body before it looks up the user: see chat.Prefetch.
func (s *Server) withAsker(next http.Handler) http.Handler {
	return s.authenticate(next, s.prefetchQuestion)
}

// prefetchQuestion returns the context of a request whose body is a question, for looking up its user. Without a valid
// question, or with a long one, it is the request's context. The body can be read again.
func (s *Server) prefetchQuestion(r *http.Request) context.Context {
	if r.ContentLength <= 0 || r.ContentLength > maxPrefetch {
		return r.Context()
	}
	read, err := io.ReadAll(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), r.Body), r.Body} // r.Body returns the same error again.
	var ids struct {
		ThreadID  uuid.UUID  `json:"thread_id"`
		ParentID  *uuid.UUID `json:"parent_id"`
		RequestID uuid.UUID  `json:"request_id"`
	}
	if err != nil || json.Unmarshal(read, &ids) != nil {
		return r.Context()
	}
	return s.Chat.Prefetch(r.Context(), chat.Question{
		ThreadID: ids.ThreadID, ParentID: ids.ParentID, RequestID: ids.RequestID,
	})
}

// authenticate is withActor. prepare returns the context for looking up the user of a verified token, and is called
// before.
func (s *Server) authenticate(next http.Handler, prepare func(*http.Request) context.Context) http.Handler {
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		claims, err := s.verify(r)
		if err != nil {
			return err
		}
		r = r.WithContext(prepare(r))
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		actor, err := s.Identity.ActorOf(ctx, claims, clientAddress(ctx))
		cancel()
		if err != nil {
			return err
		}
		actor.RequestID = requestID(r.Context())
		s.noteUse(r, actor)
		next.ServeHTTP(w, r.WithContext(identity.WithActor(r.Context(), actor)))
		return nil
	})
}

// verify returns the claims of the token of a request.
func (s *Server) verify(r *http.Request) (identity.Claims, error) {
	token, err := bearer(r)
	if err != nil {
		return identity.Claims{}, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	return s.Identity.Verify(ctx, token)
}

// bearer returns the bearer token of a request.
func bearer(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fault.Errorf(fault.Unauthenticated, "Not authenticated")
	}
	return token, nil
}

// checkScope refuses a connection's call of a route that none of its scopes allows.
func checkScope(r *http.Request, actor identity.Actor) error {
	route := chi.RouteContext(r.Context())
	if actor.HasScope(scope.Of(route.RouteMethod + " " + route.RoutePattern())...) {
		return nil
	}
	return errScope()
}

func errScope() error {
	return fault.Errorf(codeScope, "この接続では、この操作を行えません。")
}

// noteUse records the use of the actor's session, bounded by the time limit of a call.
func (s *Server) noteUse(r *http.Request, actor identity.Actor) {
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	s.Identity.RecordUse(ctx, actor, r.UserAgent())
}
