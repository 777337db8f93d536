package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// withTrace gives the request the trace that it belongs to: the one that its traceparent names if that is well-formed,
// else a new one. Spans that are begun later go on with it, and people can name it to support, traced or not.
func withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if trace.SpanContextFromContext(ctx).IsValid() { // Whoever mounted this has begun one.
			next.ServeHTTP(w, r)
			return
		}
		parent, ok := parseTraceparent(r.Header.Get("Traceparent"))
		if !ok {
			parent = newTrace()
		}
		next.ServeHTTP(w, r.WithContext(trace.ContextWithRemoteSpanContext(ctx, parent)))
	})
}

// traceID returns the id of the context's trace, 32 hexadecimal digits, or "" if there is none.
func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}

// parseTraceparent reads the header of W3C Trace Context: version, trace id, parent id and flags. Versions to come may
// add fields. See https://www.w3.org/TR/trace-context/#traceparent-header
func parseTraceparent(header string) (trace.SpanContext, bool) {
	const length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	if len(header) < length || len(header) > 2*length {
		return trace.SpanContext{}, false
	}
	fields := strings.SplitN(header, "-", 5)
	if len(fields) < 4 || len(fields[0]) != 2 || strings.Trim(fields[0], hexDigits) != "" || fields[0] == "ff" ||
		(fields[0] == "00" && len(header) != length) || len(fields[3]) != 2 || strings.Trim(fields[3], hexDigits) != "" {
		return trace.SpanContext{}, false
	}
	traceID, err := trace.TraceIDFromHex(fields[1])
	if err != nil {
		return trace.SpanContext{}, false
	}
	spanID, err := trace.SpanIDFromHex(fields[2])
	if err != nil {
		return trace.SpanContext{}, false
	}
	sampled := strings.ContainsAny(fields[3][1:], "13579bdf")
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(0).WithSampled(sampled), Remote: true,
	}), true
}

const hexDigits = "0123456789abcdef"

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
