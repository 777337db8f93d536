package telemetry_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-ai/tsumugi/internal/telemetry"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	return w.Body.String()
}

func TestCallsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	tel := must.Get(telemetry.New(t.Context(), telemetry.Config{Version: "v1"}))(t)
	tel.RequestDone(http.MethodGet, "/v1/thread/{thread_id}", http.StatusNotFound, 3*time.Millisecond)
	text := scrape(t, tel)
	for _, want := range []string{
		`tsumugi_http_request_seconds_count{method="GET",route="/v1/thread/{thread_id}",status="404"} 1`,
		`tsumugi_build_info{version="v1"} 1`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if err := tel.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSpansReachTheCollector(t *testing.T) {
	t.Parallel()
	spans := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		data, _ := io.ReadAll(body)
		var request tracepb.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &request); err != nil {
			t.Error(err)
		}
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					spans <- r.URL.Path + " " + span.GetName()
				}
			}
		}
	}))
	defer collector.Close()
	tel, err := telemetry.New(t.Context(), telemetry.Config{Version: "v1", ServerID: "s", OTLPEndpoint: collector.URL})
	must.Succeed(t, err)
	_, span := tel.Tracer().Start(t.Context(), "generation")
	span.End()
	must.Succeed(t, tel.Stop(t.Context()))
	if got := <-spans; got != "/v1/traces generation" {
		t.Errorf("got %s", got)
	}
}

func TestAWrongEndpointIsRefused(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"127.0.0.1:4318", "ftp://collector", "http://"} {
		if _, err := telemetry.New(t.Context(), telemetry.Config{OTLPEndpoint: endpoint}); err == nil {
			t.Errorf("%s was taken", endpoint)
		}
	}
}
