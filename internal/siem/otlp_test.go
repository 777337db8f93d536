package siem_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-ai/tsumugi/internal/siem"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// collector is a receiver of OTLP logs.
type collector struct {
	*httptest.Server

	arrived chan []*logspb.LogRecord
	answer  atomic.Pointer[http.HandlerFunc] // Replaces the answer if it is set.
	seen    []string                         // The ids of next.
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{arrived: make(chan []*logspb.LogRecord, 10_000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := c.answer.Load(); answer != nil {
			(*answer)(w, r)
			return
		}
		c.arrived <- records(t, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) set(answer http.HandlerFunc) {
	if answer == nil {
		c.answer.Store(nil)
		return
	}
	c.answer.Store(&answer)
}

// records decodes a request. A request that the sender has cancelled has no records.
func records(t *testing.T, r *http.Request) (all []*logspb.LogRecord) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	var request collectorpb.ExportLogsServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		t.Errorf("got %q, %v", body, err)
	}
	for _, resource := range request.GetResourceLogs() {
		for _, scope := range resource.GetScopeLogs() {
			all = append(all, scope.GetLogRecords()...)
		}
	}
	return all
}

func idOf(record *logspb.LogRecord) string {
	for _, a := range record.GetAttributes() {
		if a.GetKey() == "log.record.uid" {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// expect waits until n records have arrived, and returns their ids.
func (c *collector) expect(t *testing.T, n int) []string {
	t.Helper()
	for len(c.seen) < n {
		select {
		case batch := <-c.arrived:
			for _, r := range batch {
				c.seen = append(c.seen, idOf(r))
			}
		case <-t.Context().Done():
			t.Fatalf("%d of %d records arrived", len(c.seen), n)
		}
	}
	got := c.seen[:n:n]
	c.seen = c.seen[n:]
	return got
}

func (c *collector) sink(t *testing.T, log *slog.Logger) *siem.OTLP {
	t.Helper()
	sink := must.Get(siem.NewOTLP(siem.OTLPConfig{
		URL: c.URL, Headers: "authorization=Bearer%20key, x-a=1", Origin: siem.Origin{Host: "chat.example", Version: "v1"},
		Client: c.Client(),
	}, log))(t)
	return sink
}

// TestRefusedEvents: a receiver refuses requests with a certain event, then every request, then until it is asked whether
// it accepts any, then a part of a request.
func TestRefusedEvents(t *testing.T) {
	t.Parallel()
	f, c, log := newFixture(t), newCollector(t), &logs{}
	c.set(func(w http.ResponseWriter, r *http.Request) {
		batch := records(t, r)
		if r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("X-A") != "1" || r.URL.Path != "/v1/logs" {
			t.Errorf("%s with headers %v", r.URL, r.Header)
		}
		for _, record := range batch {
			if strings.Contains(record.String(), "poison") {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, "not this one")
				return
			}
		}
		c.arrived <- batch
	})
	var want []string
	var refused string
	for i := range 20 {
		if i == 0 {
			if _, err := f.AddSink(t.Context(), "otlp"); err != nil {
				t.Fatal(err)
			}
		}
		if i == 7 {
			refused = f.record(f.sql, "poison", "")
			continue
		}
		want = append(want, f.record(f.sql, fmt.Sprint(i), ""))
	}
	s, _ := f.serve(f.DB, log.logger(), c.sink(t, log.logger()))
	if got := c.expect(t, 19); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if stats := s.Stats()[0]; stats.Refused != 1 || !strings.Contains(log.String(), "event="+refused) ||
		!strings.Contains(log.String(), "not this one") {
		t.Errorf("%+v, %s", stats, log)
	}

	stopped := make(chan struct{}, 1000)
	c.set(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		stopped <- struct{}{}
	})
	want = []string{f.record(f.sql, "a", ""), f.record(f.sql, "b", "")}
	for range 10 {
		<-stopped
	}
	c.set(nil)
	if got := c.expect(t, 2); !slices.Equal(got, want) || s.Stats()[0].Refused != 1 {
		t.Errorf("after a receiver that refused everything: %v, want %v", got, want)
	}

	var recovered atomic.Bool
	c.set(func(w http.ResponseWriter, r *http.Request) {
		switch batch := records(t, r); {
		case len(batch) == 0:
			recovered.Store(true)
		case !recovered.Load():
			w.WriteHeader(http.StatusBadRequest)
		default:
			c.arrived <- batch
		}
	})
	want = []string{f.record(f.sql, "between", "")}
	if got := c.expect(t, 1); !slices.Equal(got, want) || s.Stats()[0].Refused != 1 {
		t.Errorf("after a receiver that recovered between two requests: %v, want %v", got, want)
	}

	c.set(func(w http.ResponseWriter, r *http.Request) {
		body, err := proto.Marshal(&collectorpb.ExportLogsServiceResponse{
			PartialSuccess: &collectorpb.ExportLogsPartialSuccess{RejectedLogRecords: 1, ErrorMessage: "too old"},
		})
		if err != nil {
			t.Error(err)
		}
		batch := records(t, r)
		_, _ = w.Write(body)
		c.arrived <- batch
	})
	f.record(f.sql, "c", "")
	c.expect(t, 1)
	f.awaitSent()
	if s.Stats()[0].Refused != 2 || !strings.Contains(log.String(), "too old") {
		t.Errorf("%+v, %s", s.Stats(), log)
	}
}
