package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

const tokensPerSecond = 50

// Rows of the section.
const (
	rowLag       = "%d streams: p99 ms from due to read"
	rowPacedCPU  = "%d streams: server µs CPU per event"
	rowPacedLost = "%d streams: tokens lost or twice"
)

// measurePaced has many streams with a watcher each, at the pace of a model.
func measurePaced(ctx context.Context, b *bench) error {
	t := newTable("Many streams, one watcher each, 50 tokens/s each",
		"The time of a token is counted from when it was due by the clock, so that a publisher that is held up counts too. "+
			"In brackets the ratio to "+r3labs+".",
		r3labs, ours, r3labs, bare)
	b.report.Sections = append(b.report.Sections, t)
	seconds := 3
	if b.quick {
		seconds = 1
	}
	for round := range b.rounds {
		for _, streams := range []int{200, 1000} {
			b.say("%d paced streams, round %d of %d", streams, round+1, b.rounds)
			for _, name := range t.Columns {
				if err := paced(ctx, b, t, name, streams, seconds*tokensPerSecond); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	for _, streams := range []int{200, 1000} {
		for _, of := range []struct{ what, row string }{{"p99", rowLag}, {"CPU per event", rowPacedCPU}} {
			of.row = fmt.Sprintf(of.row, streams)
			b.report.atMost(fmt.Sprintf("%d paced streams: %s, × %s", streams, of.what, r3labs),
				t.median(of.row, ours)/t.median(of.row, r3labs), 1, 2, "×")
		}
	}
	return nil
}

func paced(ctx context.Context, b *bench, t *table, name string, streams, tokens int) error {
	s, err := startSystem(ctx, b, name, streams, 0)
	if err != nil {
		return err
	}
	defer s.stop()
	o := order{Op: "pace", Streams: streams, Events: tokens, Every: int64(time.Second / tokensPerSecond)}
	readers := make([]*reader, streams)
	for i := range readers {
		readers[i] = newReader(0, tokens)
		readers[i].due = func(n int) time.Time { return due(o, i, n) }
	}
	watch, err := watchAll(ctx, s, readers, func(i int) (path, lastEventID string) { return fmt.Sprintf("/?stream=%d", i), "" })
	if err != nil {
		return err
	}
	defer watch.leave()
	if err := s.awaitSessions(ctx, streams); err != nil {
		return err
	}
	before, err := s.cpu()
	if err != nil {
		return err
	}
	o.Start = time.Now().Add(settle).UnixNano()
	if _, err := s.tell(o); err != nil {
		return err
	}
	watch.wait()
	after, err := s.cpu()
	if err != nil {
		return err
	}
	var lags []float64
	wrong := 0
	for _, r := range readers {
		lags = append(lags, r.lags...)
		wrong += r.lost + r.duplicated + tokens - r.next
	}
	t.add(fmt.Sprintf(rowLag, streams), name, 1, quantile(lags, 0.99))
	t.add(fmt.Sprintf(rowPacedCPU, streams), name, 1, float64((after-before).Microseconds())/float64(len(lags)))
	t.add(fmt.Sprintf(rowPacedLost, streams), name, 0, float64(wrong))
	return nil
}

// watching is clients of which each has a stream, or a place in one, of its own.
type watching struct {
	conns   []net.Conn
	cancel  context.CancelFunc
	ctx     context.Context
	readers sync.WaitGroup
}

// watchAll connects a client for each reader. A client ends when its reader has all, or after the patience.
func watchAll(ctx context.Context, s *system, readers []*reader, request func(i int) (path, lastEventID string)) (*watching, error) {
	w := &watching{}
	w.ctx, w.cancel = context.WithTimeout(ctx, patience)
	for i, r := range readers {
		path, lastEventID := request(i)
		conn, err := dial(w.ctx, s.address, path, lastEventID)
		if err != nil {
			w.leave()
			return nil, err
		}
		w.conns = append(w.conns, conn)
		// Whoever is cut off lacks tokens, which is counted.
		w.readers.Go(func() { _ = follow(w.ctx, conn, r) })
	}
	return w, nil
}

// wait returns when every reader has all or has been cut off.
func (w *watching) wait() { w.readers.Wait() }

func (w *watching) leave() {
	w.cancel()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.readers.Wait()
}
