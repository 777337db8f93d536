package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// withTrace gives the request the trace that it belongs to: the one that its traceparent names if that is well-formed,
// else a new one. Spans that are begun later go on with it, and people can name it to support, traced or not.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if trace.SpanContextFromContext(ctx).IsValid() { // A handler before this one has begun it.
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

// traceID returns the id of the context's trace, 32 hexadecimal digits, or "" if there is none.
func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}

// newTrace begins a trace. Whether it is recorded is for a tracer to say.
func newTrace() trace.SpanContext {
	var config trace.SpanContextConfig
	rand.Read(config.TraceID[:]) // Never fails: crypto/rand ends the program instead.
	rand.Read(config.SpanID[:])
	config.TraceFlags, config.Remote = trace.FlagsSampled, true
	return trace.NewSpanContext(config)
}

// logHandler adds the request and the trace that a record's context belongs to.
type logHandler struct{ slog.Handler }

// NewLogHandler returns a handler that adds request_id and trace_id to each record whose context has them, so that what
// a domain logs on behalf of a request can be found by the id that its person was shown.
func NewLogHandler(next slog.Handler) slog.Handler {
	if _, done := next.(logHandler); done {
		return next
	}
	return logHandler{next}
}

// Handle implements slog.Handler.
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

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
