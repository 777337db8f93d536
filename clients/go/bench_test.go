package tsumugi_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

// canned is a transport that responds to every request with the same stream.
type canned []byte

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	header := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(c))}, nil
}

func BenchmarkRead(b *testing.B) {
	r := run{deltas: make([]string, 10_000)}
	for i := range r.deltas {
		r.deltas[i] = fmt.Sprintf("紡ぐ%04d", i)
	}
	client := &tsumugi.Client{HTTP: &http.Client{Transport: canned(script(1, r, "", false))}}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range client.Ask(asking).Events(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/event")
}
