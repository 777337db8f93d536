package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// watch is one client that follows one answer to its end. Its text is owned by its goroutine.
type watch struct {
	load   *load
	asked  *asked
	answer *tsumugi.Answer
	once   bool // The client does not retry after a refusal.
	leave  context.CancelFunc

	every time.Duration // Time between the tokens of the numbered text; 0 disables measuring.
	have  int           // Length of the text in bytes.
	hash  hash.Hash     // Hash of the text.
	begin []byte        // Beginning of the text, which encodes its due time.
	first time.Time     // Time of reading the first text.
	due   time.Time     // Due time of the first token.
	live  time.Time     // Time of connecting. Earlier tokens are not measured.
	done  bool

	tries      int
	status     int    // Status of the refusal, if the client was refused and does not retry.
	retryAfter string // Header Retry-After of the refusal.

	mu   sync.Mutex
	conn net.Conn // Guarded by mu. Nil while the client is not connected.
}

func newWatch(l *load, a *asked, every time.Duration) *watch {
	w := &watch{load: l, asked: a, every: every, hash: sha256.New(), leave: func() {}}
	client := &tsumugi.Client{URL: l.client.URL, Token: l.client.Token, HTTP: &http.Client{Transport: w}}
	w.answer = client.Follow(a.message)
	return w
}

// run follows the answer to its end, or until ctx ends.
func (w *watch) run(ctx context.Context) {
	ctx, w.leave = context.WithCancel(ctx)
	defer w.leave()
	defer func() {
		w.load.stats.gaps.Add(int64(w.answer.Gaps))
		w.load.stats.repeated.Add(int64(w.answer.Repeats))
	}()
	for event, err := range w.answer.Events(ctx) {
		var failed *tsumugi.AnswerError
		switch {
		case errors.As(err, &failed):
			w.load.stats.failed.Add(1)
			w.done = true
			return
		case err != nil:
			w.load.note(err)
			return
		}
		w.take(event, time.Now())
	}
	w.done = true
}

// take processes an event that was read at the time at.
func (w *watch) take(event tsumugi.Event, at time.Time) {
	switch event.Type {
	case "data-reset":
		w.load.stats.resets.Add(1)
		w.have, w.begin, w.due = 0, w.begin[:0], time.Time{}
		w.hash.Reset()
	case "text-delta":
		w.text([]byte(event.Text), at)
	}
}

// text processes a piece of the text.
func (w *watch) text(text []byte, at time.Time) {
	w.load.stats.events.Add(1)
	from := w.have
	w.have += len(text)
	w.hash.Write(text)
	if from == 0 {
		w.first = at
	}
	if missing := llmtest.ClockTokens*llmtest.TokenBytes - len(w.begin); missing > 0 {
		w.begin = append(w.begin, text[:min(missing, len(text))]...)
		if len(text) >= missing {
			w.due = llmtest.ReadClock(llmtest.ReadToken(w.begin), llmtest.ReadToken(w.begin[llmtest.TokenBytes:]))
			w.time(0, w.first)
			from = max(from, llmtest.TokenBytes)
		}
	}
	for n := from / llmtest.TokenBytes; n < w.have/llmtest.TokenBytes; n++ {
		w.time(n, at)
	}
}

// time records the delay of a token, unless it was sent before the client connected.
func (w *watch) time(n int, at time.Time) {
	if w.every == 0 || w.due.IsZero() {
		return
	}
	if due := w.due.Add(time.Duration(n) * w.every); due.After(w.live) {
		w.load.stats.tokens.Add(1)
		w.load.stats.lag.add(at.Sub(due))
	}
}

// sum returns the hash of the text.
func (w *watch) sum() string { return fmt.Sprintf("%x", w.hash.Sum(nil)) }

// RoundTrip implements http.RoundTripper. It opens a connection without net/http's transport, which needs two
// goroutines for each connection, and limits the number of clients that connect at the same time.
func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, stats := req.Context(), &w.load.stats
	select {
	case w.load.connecting <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-w.load.connecting }()
	if w.tries++; w.tries > 1 {
		stats.reconnects.Add(1)
	}
	resp, err := w.request(ctx, req)
	switch {
	case err != nil:
		stats.broken.Add(1)
		w.load.note(err)
		return nil, err
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		stats.refused.Add(1)
		if w.once {
			w.status, w.retryAfter = resp.StatusCode, resp.Header.Get("Retry-After")
			w.leave()
		}
	case resp.StatusCode == http.StatusOK:
		w.live = time.Now()
		stats.attached.Add(1)
	}
	return resp, nil
}

func (w *watch) request(ctx context.Context, req *http.Request) (*http.Response, error) {
	conn, err := wire.Dial(ctx, req.URL.Host, nil)
	if err != nil {
		return nil, err
	}
	w.hold(conn)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	response := &body{watch: w, conn: conn, stop: stop}
	if err = req.Write(conn); err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(bufio.NewReaderSize(conn, wire.SmallBuffer), req); err == nil {
			response.Reader, response.streams = resp.Body, resp.StatusCode == http.StatusOK
			resp.Body = response
			return resp, nil
		}
	}
	_ = response.Close()
	return nil, err
}

// body is a response's body and its connection.
type body struct {
	io.Reader
	watch   *watch
	conn    net.Conn
	stop    func() bool
	streams bool // The connection is counted in stats.attached.
}

func (b *body) Close() error {
	b.stop()
	b.watch.hold(nil)
	if b.streams {
		b.watch.load.stats.attached.Add(-1)
	}
	b.streams = false
	return b.conn.Close()
}

func (w *watch) hold(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
}

// cut closes the connection, to simulate a network failure.
func (w *watch) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
