package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/client"
)

// watch is one client of one answer. It comes back whenever its connection ends, until the answer is over.
type watch struct {
	load   *load
	asked  *asked
	answer *answer
	once   bool // It does not come back when it is refused.

	status     int    // Of the refusal, if it was refused and does not come back.
	retryAfter string // The header that came with it.

	mu   sync.Mutex
	conn net.Conn // Guarded by mu. Nil while there is none.
}

// run follows the answer to its end, or until ctx ends.
func (w *watch) run(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		if !first {
			w.load.stats.reconnects.Add(1)
		}
		err := w.follow(ctx)
		var status *client.StatusError
		pause := w.answer.retry
		switch {
		case w.answer.done:
			return
		case errors.As(err, &status) && status.Status == http.StatusNoContent:
			w.answer.done = true // It has all.
			return
		case status != nil && (status.Status == http.StatusTooManyRequests || status.Status == http.StatusServiceUnavailable):
			w.load.stats.refused.Add(1)
			if w.once {
				w.status, w.retryAfter = status.Status, status.RetryAfter
				return
			}
			if seconds, err := strconv.Atoi(status.RetryAfter); err == nil {
				pause = time.Duration(seconds) * time.Second
			}
		case status != nil || w.answer.live.IsZero():
			w.load.stats.broken.Add(1)
			w.load.note(err)
		}
		w.answer.reconnect()
		if sleep(ctx, pause) != nil {
			return
		}
	}
}

// follow makes one connection and reads what comes over it. Only so many connect at a time.
func (w *watch) follow(ctx context.Context) error {
	select {
	case w.load.connecting <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	release := sync.OnceFunc(func() { <-w.load.connecting })
	defer release()
	token, err := w.load.session.Token(ctx)
	if err != nil {
		return err
	}
	request := client.Get(w.load.session.Address, "/v1/message/"+w.asked.message+"/stream", token, w.answer.cursor)
	conn, err := client.Dial(ctx, w.load.session.Address, request)
	if err != nil {
		return err
	}
	w.hold(conn)
	defer func() {
		w.hold(nil)
		_ = conn.Close()
	}()
	begun := false
	err = client.Follow(ctx, conn, client.SmallBuffer, func() {
		begun = true
		w.answer.live = time.Now()
		w.load.stats.attached.Add(1)
		release()
	}, w.answer)
	if begun {
		w.load.stats.attached.Add(-1)
	}
	return err
}

func (w *watch) hold(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
}

// cut breaks the connection, as a network does that goes away.
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
