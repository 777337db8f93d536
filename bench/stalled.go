package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

const (
	stalledWatchers = 20
	stalledEvents   = 10_000
	stalledBuffer   = 8 << 10 // Socket buffer in bytes, on both sides.
)

// Rows of the section.
const (
	rowOthers       = "events the 19 others got of 10,000, the worst of them"
	rowStalledGrown = "MB that the server grew by"
	rowReadingGrown = "MB that it grows by if all 20 read"
)

// measureStalled stops one of the watchers of a stream from reading.
func measureStalled(ctx context.Context, b *bench) error {
	t := newTable("One of 20 watchers stops reading",
		"10,000 tokens are published as fast as the system takes them, while one client reads nothing and the "+
			"kernel keeps 8 KiB for each. A system is given up when nothing comes for two seconds.",
		"", ours, oursHTTP, r3labs, tmaxmax, bare)
	b.report.Sections = append(b.report.Sections, t)
	for round := range b.rounds {
		b.say("A stalled reader, round %d of %d", round+1, b.rounds)
		for _, name := range t.Columns {
			reading, _, err := stalled(ctx, b, name, stalledWatchers)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			grown, worst, err := stalled(ctx, b, name, stalledWatchers-1)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			t.add(rowOthers, name, 0, float64(worst))
			t.add(rowStalledGrown, name, 1, grown)
			t.add(rowReadingGrown, name, 1, reading)
		}
	}
	for _, name := range []string{ours, oursHTTP} {
		b.report.atLeast("a stalled reader, "+name+": events the others got", t.median(rowOthers, name), stalledEvents,
			0, "")
		b.report.atMost("a stalled reader, "+name+": memory added",
			t.median(rowStalledGrown, name)-t.median(rowReadingGrown, name), 2, 1, " MB")
	}
	return nil
}

// progress is a sink that publishes the progress of its reader.
type progress struct {
	*reader
	got *atomic.Int64 // Number of events of all readers.
}

func (p progress) Take(b []byte, at time.Time) bool {
	before := p.next
	done := p.reader.Take(b, at)
	p.got.Add(int64(p.next - before))
	return done
}

// stalled publishes a burst of tokens to 20 watchers of a system, of whom a number read. It returns the MB by which the
// server grew, and the number of events of the reader that received the fewest.
func stalled(ctx context.Context, b *bench, name string, reading int) (grown float64, worst int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := startSystem(ctx, b, spec{Name: name, WriteBuffer: stalledBuffer}, 1)
	if err != nil {
		return 0, 0, err
	}
	s.grace = 100 * time.Millisecond // Short, because some systems are blocked.
	defer s.stop()
	for range stalledWatchers - reading {
		mute, err := dialStalled(ctx, s.address, wire.Get(s.address, "/?stream=0", "", ""))
		if err != nil {
			return 0, 0, err
		}
		defer func() { _ = mute.Close() }()
	}
	readers := make([]*reader, reading)
	w := &watching{ctx: ctx, cancel: cancel}
	defer w.leave()
	var got atomic.Int64
	for i := range readers {
		readers[i] = newReader(0, stalledEvents)
		conn, err := wire.Dial(ctx, s.address, wire.Get(s.address, "/?stream=0", "", ""))
		if err != nil {
			return 0, 0, err
		}
		w.conns = append(w.conns, conn)
		w.readers.Go(func() { _ = wire.Follow(ctx, conn, wire.BigBuffer, nil, progress{readers[i], &got}) })
	}
	if err := s.awaitSessions(ctx, stalledWatchers); err != nil {
		return 0, 0, err
	}
	before, err := s.memory()
	if err != nil {
		return 0, 0, err
	}
	told := make(chan struct{})
	go func() { // Ends with the system's process at the latest.
		_, _ = s.tell(order{Op: "burst", Events: stalledEvents})
		close(told)
	}()
	waitWhileGrowing(ctx, &got, int64(len(readers))*stalledEvents)
	after, err := s.memory()
	if err != nil {
		return 0, 0, err
	}
	w.leave()
	worst = stalledEvents
	for _, r := range readers {
		worst = min(worst, r.next-r.lost)
	}
	s.stop()
	<-told
	return (after - before) / 1024, worst, nil
}

// waitWhileGrowing waits until count has reached want or has stopped growing.
func waitWhileGrowing(ctx context.Context, count *atomic.Int64, want int64) {
	const givenUp = 2 * time.Second
	last, since := int64(0), time.Now()
	for last < want && time.Since(since) < givenUp && ctx.Err() == nil {
		<-time.After(20 * time.Millisecond)
		if n := count.Load(); n > last {
			last, since = n, time.Now()
		}
	}
}

// dialStalled connects a client with a small socket buffer that never reads.
func dialStalled(ctx context.Context, address string, request []byte) (net.Conn, error) {
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, stalledBuffer)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
