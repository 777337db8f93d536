package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

// Rows of the section.
const (
	rowThroughput = "N = %d: thousand events/s"
	rowBurstCPU   = "N = %d: server µs CPU per delivered event"
	rowWrong      = "N = %d: watchers whose text differs"
	rowConnection = "N = %d: KiB a connection"
)

// measureBurst publishes tokens on one stream with many watchers as fast as the system accepts them.
func measureBurst(ctx context.Context, b *bench) error {
	t := newTable("One stream, N watchers, bursts",
		"300 tokens (N = 1000) or 10,000 (N = 10) are published as fast as the system takes them; the next burst "+
			"follows when the last watcher has the last event. In brackets the ratio to "+r3labs+".",
		r3labs, ours, oursHTTP, r3labs, tmaxmax, bare)
	b.report.Sections = append(b.report.Sections, t)
	for round := range b.rounds {
		for _, n := range []int{10, 1000} {
			b.say("Bursts to %d watchers, round %d of %d", n, round+1, b.rounds)
			for _, name := range t.Columns {
				if err := burst(ctx, b, t, name, n); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	row := fmt.Sprintf(rowThroughput, 1000)
	b.report.atLeast("fan-out, N = 1000, net/http path: throughput, × "+r3labs,
		t.median(row, oursHTTP)/t.median(row, r3labs),
		10, 1, "×")
	b.report.atMostTimes("fan-out, N = 1000, net/http path: CPU per event", t, fmt.Sprintf(rowBurstCPU, 1000), oursHTTP,
		r3labs, 0.05, 3)
	wrong := 0.0
	for _, n := range []int{10, 1000} {
		wrong += t.worst(fmt.Sprintf(rowWrong, n), ours) + t.worst(fmt.Sprintf(rowWrong, n), oursHTTP)
	}
	b.report.atMost("fan-out: watchers whose text differs", wrong, 0, 0, "")
	return nil
}

// burstClients are the clients of one stream that receives bursts. One client reads every event. All clients sum the
// bytes.
type burstClients struct {
	conns   []net.Conn
	tallies []*tally
	target  atomic.Int64  // Number of events that each client must receive.
	missing atomic.Int64  // Number of watchers with fewer events.
	arrived chan struct{} // Receives a value when missing becomes 0.
	failed  chan error
	done    sync.WaitGroup
}

func burst(ctx context.Context, b *bench, t *table, name string, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := startSystem(ctx, b, spec{Name: name}, 1)
	if err != nil {
		return err
	}
	defer s.stop()
	idle, err := s.memory()
	if err != nil {
		return err
	}
	c, err := gather(ctx, s, n)
	if err != nil {
		return err
	}
	defer c.leave(cancel)
	connected, err := s.memory()
	if err != nil {
		return err
	}
	events := 300
	if n < 100 {
		events = 10_000
	}
	if err := c.burst(s, events); err != nil { // Warms up connections and heap.
		return err
	}
	lasting := 1000 * time.Millisecond
	if b.quick {
		lasting = 300 * time.Millisecond
	}
	before, err := s.cpu()
	if err != nil {
		return err
	}
	began, published := time.Now(), events
	for time.Since(began) < lasting {
		if err := c.burst(s, events); err != nil {
			return err
		}
		published += events
	}
	took := time.Since(began)
	after, err := s.cpu()
	if err != nil {
		return err
	}
	c.leave(cancel)
	delivered := float64((published - events) * n)
	t.add(fmt.Sprintf(rowThroughput, n), name, 0, delivered/took.Seconds()/1000)
	t.add(fmt.Sprintf(rowBurstCPU, n), name, 3, float64((after-before).Microseconds())/delivered)
	t.add(fmt.Sprintf(rowWrong, n), name, 0, float64(c.wrong(published)))
	if n >= 100 {
		t.add(fmt.Sprintf(rowConnection, n), name, 1, (connected-idle)/float64(n))
	}
	return nil
}

// gather connects n clients and waits until the system has registered them.
func gather(ctx context.Context, s *system, n int) (*burstClients, error) {
	c := &burstClients{arrived: make(chan struct{}, 1), failed: make(chan error, n)}
	table := crc32.MakeTable(crc32.Castagnoli)
	for i := range n {
		conn, err := wire.Dial(ctx, s.address, wire.Get(s.address, "/?stream=0", "", ""))
		if err != nil {
			c.leave(func() {})
			return nil, err
		}
		watcher := &tally{table: table, reached: c.reached}
		if i == n/2 {
			watcher.full = newReader(0, 1<<30)
		}
		c.conns, c.tallies = append(c.conns, conn), append(c.tallies, watcher)
		c.done.Go(func() {
			if err := wire.Follow(ctx, conn, wire.BigBuffer, nil, watcher); err != nil {
				c.failed <- err
			}
		})
	}
	return c, s.awaitSessions(ctx, n)
}

// reached is called by each watcher on progress. No event is published after the last watcher has reached the target
// and before the next target is set, so each watcher reaches each target once.
func (c *burstClients) reached(events int) bool {
	if int64(events) == c.target.Load() && c.missing.Add(-1) == 0 {
		c.arrived <- struct{}{}
	}
	return false
}

// waitTimeout bounds every wait for a system.
const waitTimeout = 60 * time.Second

// burst publishes events and waits until every watcher has them.
func (c *burstClients) burst(s *system, events int) error {
	c.missing.Store(int64(len(c.conns)))
	c.target.Add(int64(events))
	if _, err := s.tell(order{Op: "burst", Events: events}); err != nil {
		return err
	}
	timeout := time.NewTimer(waitTimeout)
	defer timeout.Stop()
	select {
	case <-c.arrived:
		return nil
	case err := <-c.failed:
		return fmt.Errorf("a watcher was cut off: %w", err)
	case <-timeout.C:
		return errors.New("not every event was delivered")
	}
}

// leave closes the connections and waits for the watchers' goroutines to end.
func (c *burstClients) leave(cancel func()) {
	cancel()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.done.Wait()
}

// wrong returns the number of watchers whose text differs from the published one. The client that reads every event
// compares its text. The other clients compare their sums with that client's sum.
func (c *burstClients) wrong(published int) int {
	first := c.tallies[len(c.tallies)/2]
	if first.full.sum() != wantedText(0, published) || first.full.events != published {
		return len(c.tallies)
	}
	wrong := 0
	for _, one := range c.tallies {
		if one.sum != first.sum || one.lines != first.lines {
			wrong++
		}
	}
	return wrong
}
