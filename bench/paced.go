package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

// Rows of the section, by the number of streams and the tokens a second of each.
const (
	rowLag       = "%d × %d/s: p99 ms from due to read"
	rowPacedCPU  = "%d × %d/s: server µs CPU per event"
	rowPacedLost = "%d × %d/s: tokens lost or twice"
)

// pace describes a measurement: a number of streams with one watcher each, and tokens at a fixed rate.
type pace struct {
	streams, perSecond int
	systems            []string // Measured in addition to ours.
}

// paces returns the measurements. A quick run has only the first ones.
func (b *bench) paces() []pace {
	all := []pace{
		{200, 50, []string{r3labs, bare, raw}},
		{1000, 50, []string{r3labs, bare, raw}},
		{1000, 100, []string{raw}},
		{1000, 200, []string{raw}},
		{5000, 10, []string{r3labs, bare, raw}},
	}
	if b.quick {
		return all[:2]
	}
	return all
}

// measurePaced measures many streams with one watcher each, at the token rate of a model.
func measurePaced(ctx context.Context, b *bench) error {
	t := newTable("Many streams, one watcher each, paced",
		"Streams × tokens a second on each. The time of a token is counted from when it was due by the clock, "+
			"so that a publisher that is held up counts too. The p99 is the median of those of every second. "+raw+
			" writes the same bytes to the sockets and does nothing else: the limit. "+
			"In brackets the ratio to it.",
		raw, ours, oursHTTP, r3labs, bare, raw)
	b.report.Sections = append(b.report.Sections, t)
	seconds := 2
	if b.quick {
		seconds = 1
	}
	for round := range b.rounds {
		for _, p := range b.paces() {
			b.say("Paced streams, %d × %d/s, round %d of %d", p.streams, p.perSecond, round+1, b.rounds)
			turns := b.turns(append([]string{ours, oursHTTP}, p.systems...))
			if p.streams == 5000 {
				// This load needs nearly both cores and is sensitive to disturbances, so it is measured for longer.
				turns = slices.Concat(turns, turns)
			}
			for _, name := range turns {
				if err := paced(ctx, b, t, name, p, seconds); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	b.pacedGoals(t)
	return nil
}

// turns returns the systems in the order of a round, forwards and then backwards, so that a drift of the machine's
// speed affects all systems equally.
func (b *bench) turns(systems []string) []string {
	if b.quick {
		return systems
	}
	back := slices.Clone(systems)
	slices.Reverse(back)
	return append(systems, back...)
}

func (b *bench) pacedGoals(t *table) {
	lost := 0.0
	for _, p := range b.paces() {
		goal := func(what, row, name, base string, limit float64) {
			what = fmt.Sprintf("paced, %d × %d/s, %s", p.streams, p.perSecond, what)
			b.report.atMostTimes(what, t, fmt.Sprintf(row, p.streams, p.perSecond), name, base, limit, 2)
		}
		lost += t.worst(fmt.Sprintf(rowPacedLost, p.streams, p.perSecond), ours) +
			t.worst(fmt.Sprintf(rowPacedLost, p.streams, p.perSecond), oursHTTP)
		if p.perSecond <= 50 {
			goal("net/http path: p99", rowLag, oursHTTP, r3labs, 1)
			goal("net/http path: CPU per event", rowPacedCPU, oursHTTP, r3labs, 1)
		}
		if p.perSecond <= 100 {
			goal("fast path: p99", rowLag, ours, raw, 1.5)
			goal("fast path: CPU per event", rowPacedCPU, ours, raw, 1.5)
		}
	}
	b.report.atMost("paced: tokens lost or twice", lost, 0, 0, "")
}

func paced(ctx context.Context, b *bench, t *table, name string, p pace, seconds int) error {
	s, err := startSystem(ctx, b, spec{Name: name}, p.streams)
	if err != nil {
		return err
	}
	defer s.stop()
	lags, wrong, used, err := s.pace(ctx, s, p, seconds)
	if err != nil {
		return err
	}
	// Each second gets a separate value, so that a short disturbance of the machine affects one value only.
	for _, second := range lags {
		t.add(fmt.Sprintf(rowLag, p.streams, p.perSecond), name, 1, quantile(second, 0.99))
	}
	t.add(fmt.Sprintf(rowPacedCPU, p.streams, p.perSecond), name, 1,
		float64(used.Nanoseconds())/1000/float64(len(slices.Concat(lags...))))
	t.add(fmt.Sprintf(rowPacedLost, p.streams, p.perSecond), name, 0, float64(wrong))
	return nil
}

// pace publishes on the system's streams. One client watches each stream through watched, which may be the same system.
// pace returns the delays of the tokens in milliseconds, grouped by the second of their due times. It also returns the
// number of lost and repeated tokens, and the publisher's CPU time.
func (s *system) pace(ctx context.Context, watched *system, p pace, seconds int) (lags [][]float64, wrong int,
	used time.Duration, err error,
) {
	tokens := seconds * p.perSecond
	o := order{Op: "pace", Streams: p.streams, Events: tokens, Every: int64(time.Second) / int64(p.perSecond)}
	readers := make([]*reader, p.streams)
	for i := range readers {
		readers[i] = newReader(0, tokens)
		readers[i].due = func(n int) time.Time { return due(o, i, n) }
	}
	watch, err := watchAll(ctx, watched, wire.SmallBuffer, readers, func(i int) []byte {
		return wire.Get(watched.address, fmt.Sprintf("/?stream=%d", i), "", "")
	})
	if err != nil {
		return nil, 0, 0, err
	}
	defer watch.leave()
	if err := watched.awaitSessions(ctx, p.streams); err != nil {
		return nil, 0, 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return nil, 0, 0, err
	}
	o.Start = time.Now().Add(settle).UnixNano()
	if _, err := s.tell(o); err != nil {
		return nil, 0, 0, err
	}
	watch.wait()
	after, err := s.cpu()
	lags = make([][]float64, seconds)
	for _, r := range readers {
		for i, lag := range r.lags {
			second := i / p.perSecond
			lags[second] = append(lags[second], lag)
		}
		wrong += r.lost + r.duplicated + tokens - r.next
	}
	return lags, wrong, after - before, err
}

// watching is a set of clients. Each client has a different stream, or a different position in a stream.
type watching struct {
	conns   []net.Conn
	cancel  context.CancelFunc
	ctx     context.Context
	readers sync.WaitGroup
}

// watchAll connects a client for each reader. A client ends when its reader is complete, or after waitTimeout.
func watchAll(ctx context.Context, s *system, buffer int, readers []*reader, request func(i int) []byte) (*watching,
	error,
) {
	w := &watching{}
	w.ctx, w.cancel = context.WithTimeout(ctx, waitTimeout)
	for i, r := range readers {
		conn, err := wire.Dial(w.ctx, s.address, request(i))
		if err != nil {
			w.leave()
			return nil, err
		}
		w.conns = append(w.conns, conn)
		// The error is ignored, because the missing tokens of a disconnected watcher are counted.
		w.readers.Go(func() { _ = wire.Follow(w.ctx, conn, buffer, nil, r) })
	}
	return w, nil
}

// wait waits until every reader is complete or disconnected.
func (w *watching) wait() { w.readers.Wait() }

func (w *watching) leave() {
	w.cancel()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.readers.Wait()
}
