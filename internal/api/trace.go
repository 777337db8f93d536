package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// withTrace sets the trace of a request: that of its traceparent header if well-formed, else a new one. Later spans
// continue it. People can report its id to support, even without tracing.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if trace.SpanContextFromContext(ctx).IsValid() { // Set by a handler before this one.
			next.ServeHTTP(w, r)
			return
		}
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
		if !trace.SpanContextFromContext(ctx).IsValid() {
			ctx = trace.ContextWithRemoteSpanContext(ctx, newTrace())
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// traceID returns the id of the context's trace, 32 hexadecimal digits, or "".
func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}

// newTrace starts a trace. A tracer decides whether it is recorded.
func newTrace() trace.SpanContext {
	var config trace.SpanContextConfig
	rand.Read(config.TraceID[:]) // Never fails.
	rand.Read(config.SpanID[:])
	config.TraceFlags, config.Remote = trace.FlagsSampled, true
	return trace.NewSpanContext(config)
}

// logHandler adds the request id and the trace id of a record's context.
type logHandler struct{ slog.Handler }

// NewLogHandler returns a handler that adds request_id and trace_id to each record whose context has them. With the id
// shown to a person, the logs of all domains can be found.
func NewLogHandler(next slog.Handler) slog.Handler {
	if _, done := next.(logHandler); done {
		return next
	}
	return logHandler{next}
}

func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	var attrs []slog.Attr
	if id := requestID(ctx); id != "" {
		attrs = append(attrs, slog.String("request_id", id))
	}
	if id := traceID(ctx); id != "" {
		attrs = append(attrs, slog.String("trace_id", id))
	}
	if attrs != nil {
		record = record.Clone() // Its attributes may be shared with other handlers.
		record.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, record)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
