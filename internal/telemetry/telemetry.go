// Package telemetry exports metrics for Prometheus, and traces for an OpenTelemetry collector.
//
// It is the only package that imports the Prometheus client. The domains have their own counters, or call a small
// interface that they declare. For traces, they use OpenTelemetry's API, which does nothing unless a collector is
// configured. docs/operating.md documents the names, labels and units of the metrics. No metric or span contains users'
// texts, names or addresses.
package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// exportTimeout bounds the export of a batch of spans. If the collector is down, the spans are lost.
const exportTimeout = 5 * time.Second

// Config configures the telemetry.
type Config struct {
	Version  string // Version of the program.
	ServerID string // Identifies this server in traces.

	// OTLPEndpoint is the collector's URL for OTLP over HTTP, such as http://127.0.0.1:4318; "" disables traces. A URL
	// without a path gets /v1/traces.
	OTLPEndpoint string
	Logger       *slog.Logger // Default: nothing is logged.
}

// Telemetry has the server's metrics and traces. It is safe for concurrent use.
type Telemetry struct {
	registry *prometheus.Registry
	provider *sdktrace.TracerProvider // Nil without a collector.

	requests *prometheus.HistogramVec
}

// New returns a Telemetry without any measurements. The collector need not be running.
func New(ctx context.Context, cfg Config) (*Telemetry, error) {
	t := &Telemetry{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "tsumugi_http_request_seconds",
			Help:    "Time to answer calls, by route; streams are not among them.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route", "status"}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "tsumugi_build_info", Help: "Always 1; the label names the version.",
	}, []string{"version"})
	build.WithLabelValues(cfg.Version).Set(1)
	t.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), t.requests,
		build,
	)
	if cfg.OTLPEndpoint == "" {
		return t, nil
	}
	endpoint, err := tracesURL(cfg.OTLPEndpoint)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint),
		otlptracehttp.WithTimeout(exportTimeout))
	if err != nil {
		return nil, fmt.Errorf("the exporter of traces: %w", err)
	}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(loggingExporter{exporter, cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))}),
		// The collector samples, because it sees whole traces.
		sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "tsumugi"), attribute.String("service.version", cfg.Version),
			attribute.String("service.instance.id", cfg.ServerID),
		)),
	)
	return t, nil
}

// loggingExporter logs failed exports. By default, OpenTelemetry writes them to standard error as plain text.
type loggingExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (e loggingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.WarnContext(ctx, "telemetry: traces not exported", "spans", len(spans), "err", err)
	}
	return nil
}

var errEndpoint = errors.New("the endpoint of the collector must be a URL that begins with http:// or https://")

// tracesURL returns the URL for exporting spans.
func tracesURL(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errEndpoint
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// Tracer returns the tracer of all spans. Without a collector, spans are discarded.
func (t *Telemetry) Tracer() trace.Tracer {
	if t.provider == nil {
		return noop.NewTracerProvider().Tracer("")
	}
	return t.provider.Tracer("github.com/tsumugi-ai/tsumugi")
}

// Handler serves the metrics in Prometheus's format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// RequestDone records a request. route is the matched pattern.
func (t *Telemetry) RequestDone(method, route string, status int, took time.Duration) {
	t.requests.WithLabelValues(method, route, fmt.Sprint(status)).Observe(took.Seconds())
}

// Stop exports the remaining spans.
func (t *Telemetry) Stop(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
