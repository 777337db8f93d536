package main

import (
	"context"
	"fmt"
	"net"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

// Rows of the section.
const (
	rowIdleRSS  = "KiB of the machine a connection"
	rowIdleHeap = "KiB of Go's heap and stacks a connection"
)

// measureIdle connects many clients to a stream without events.
func measureIdle(ctx context.Context, b *bench) error {
	count := 10_000
	if b.quick {
		count = 2000
	}
	t := newTable(fmt.Sprintf("%s idle connections", number(float64(count), 0)),
		"What the server's process grows by, divided by the connections; what the kernel keeps for them is the same "+
			"for all and not counted. Heap and stacks are those in use after a collection.",
		"", ours, oursHTTP, r3labs, tmaxmax, bare)
	b.report.Sections = append(b.report.Sections, t)
	for round := range b.rounds {
		b.say("Idle connections, round %d of %d", round+1, b.rounds)
		for _, name := range t.Columns {
			if err := idle(ctx, b, t, name, count); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	b.report.atMostMedian("idle connection, fast path", t, rowIdleRSS, ours, 3, 1, " KiB")
	b.report.atMostMedian("idle connection, net/http path", t, rowIdleRSS, oursHTTP, 30, 1, " KiB")
	return nil
}

func idle(ctx context.Context, b *bench, t *table, name string, count int) error {
	s, err := startSystem(ctx, b, spec{Name: name}, 1)
	if err != nil {
		return err
	}
	defer s.stop()
	memory := func() (rss, heap float64, err error) {
		r, err := s.tell(order{Op: "heap"}) // Collects garbage, so that only live memory counts.
		if err != nil {
			return 0, 0, err
		}
		rss, err = s.memory()
		return rss, float64(r.Heap) / 1024, err
	}
	rss, heap, err := memory()
	if err != nil {
		return err
	}
	conns := make([]net.Conn, 0, count)
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	for range count {
		conn, err := wire.Dial(ctx, s.address, wire.Get(s.address, "/?stream=0", "", ""))
		if err != nil {
			return err
		}
		conns = append(conns, conn)
	}
	if err := s.awaitSessions(ctx, count); err != nil {
		return err
	}
	rssWith, heapWith, err := memory()
	if err != nil {
		return err
	}
	t.add(rowIdleRSS, name, 1, (rssWith-rss)/float64(count))
	t.add(rowIdleHeap, name, 1, (heapWith-heap)/float64(count))
	return nil
}
