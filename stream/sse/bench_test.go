package sse_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// token is a typical Japanese token.
const token = "回答"

// flushes is a response that signals each flush.
type flushes chan struct{}

func (flushes) Header() http.Header              { return http.Header{} }
func (flushes) WriteHeader(int)                  {}
func (flushes) SetWriteDeadline(time.Time) error { return nil }
func (flushes) Write(b []byte) (int, error)      { return len(b), nil }
func (f flushes) Flush()                         { f <- struct{}{} }

// BenchmarkPublishToFlush measures the time from publishing a token to the flush of its only client's response, without
// net/http's work.
func BenchmarkPublishToFlush(b *testing.B) {
	text := stream.NewText(stream.Head{MessageID: "m", Run: 1})
	server := sse.NewServer(sse.Config{})
	defer server.Close()
	w, served := make(flushes), make(chan struct{})
	go func() {
		server.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil),
			sse.Delivery{Watch: text.Watch(""), Done: func(error) {}})
		close(served)
	}()
	<-w // The first events.
	b.ReportAllocs()
	for b.Loop() {
		text.AppendText(token)
		<-w
	}
	go text.Finish(stream.End{Outcome: stream.Finished, FinishReason: "stop"})
	<-w
	<-served
}

// BenchmarkReplay measures sending a stored answer of 100 KB through net/http's writer.
func BenchmarkReplay(b *testing.B) {
	content := strings.Repeat(token, 100_000/len(token))
	server := sse.NewServer(sse.Config{})
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		text := stream.NewText(stream.Head{MessageID: "m", Run: 1})
		text.AppendText(content)
		text.Finish(stream.End{Outcome: stream.Finished, FinishReason: "stop"})
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		server.Serve(w, r, sse.Delivery{Watch: text.Watch(""), Done: func(err error) {
			if err != nil || w.Code != http.StatusOK {
				b.Error(w.Code, err)
			}
		}})
	}
}
