// Package telemetry shows how the server is doing: metrics for Prometheus, and traces for an OpenTelemetry collector.
//
// It owns both libraries. The domains know neither: they count by themselves or tell a small interface that they
// declare, and use OpenTelemetry's API, which does nothing unless a collector is configured. Names, labels and units of
// the metrics stand in docs/operating.md; no metric and no span holds what people write, their names or their
// addresses.
package telemetry

import (
	"context"
	"errors"
	"fmt"
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

// exportTimeout bounds the sending of a batch of spans. A collector that is away costs nothing but the spans.
const exportTimeout = 5 * time.Second

// Config says what is measured for whom.
type Config struct {
	Version  string // Of the program.
	ServerID string // Tells this server from its fellows in traces.

	// OTLPEndpoint is the collector's URL for OTLP over HTTP, such as http://127.0.0.1:4318; "" for no traces. A URL
	// without a path gets /v1/traces.
	OTLPEndpoint string
}

// Telemetry is the server's own measuring. It is safe for concurrent use.
type Telemetry struct {
	registry *prometheus.Registry
	provider *sdktrace.TracerProvider // Nil without a collector.

	requests *prometheus.HistogramVec
}

// New returns a telemetry that has measured nothing yet. The collector need not be there.
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
		sdktrace.WithBatcher(exporter),
		// What is kept is decided by the collector, which sees whole traces.
		sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "tsumugi"), attribute.String("service.version", cfg.Version),
			attribute.String("service.instance.id", cfg.ServerID),
		)),
	)
	return t, nil
}

var errEndpoint = errors.New("the endpoint of the collector must be a URL that begins with http:// or https://")

// tracesURL returns where spans are sent.
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

// Tracer returns what spans are begun with. Without a collector they go nowhere.
func (t *Telemetry) Tracer() trace.Tracer {
	if t.provider == nil {
		return noop.NewTracerProvider().Tracer("")
	}
	return t.provider.Tracer("github.com/tsumugi-ai/tsumugi")
}

// Handler answers the metrics in Prometheus's format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// RequestDone notes a call that was answered. route is the pattern that it matched.
func (t *Telemetry) RequestDone(method, route string, status int, took time.Duration) {
	t.requests.WithLabelValues(method, route, fmt.Sprint(status)).Observe(took.Seconds())
}

// Stop sends the spans that are left.
func (t *Telemetry) Stop(ctx context.Context) error {
	if t.provider == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
