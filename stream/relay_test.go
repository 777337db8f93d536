package stream_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

var firstRun = stream.Head{MessageID: "0190", Run: 1, Metadata: json.RawMessage(`{"thread_id":"t"}`)}

// joined returns servers on one network, each with its node.
func joined(t *testing.T, n int) (*streamtest.Network, []*streamtest.Node, []*stream.Hub) {
	t.Helper()
	network := streamtest.NewNetwork()
	var nodes []*streamtest.Node
	var hubs []*stream.Hub
	for range n {
		node := network.Node()
		nodes, hubs = append(nodes, node), append(hubs, streamtest.NewServer(t, node).Hub)
	}
	return network, nodes, hubs
}

// readAll reads the message of firstRun to its end.
func readAll(t *testing.T, hub *stream.Hub) *streamtest.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	c := &streamtest.Client{}
	must.Succeed(t, c.Follow(ctx, hub, firstRun.MessageID, nil))
	return c
}

func TestRelayResendsUnacknowledgedUpdates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes, hubs := joined(t, 2)
		text := hubs[0].Open(firstRun)
		nodes[0].LoseAcks(3)
		for range 10 {
			text.AppendText("糸")
			synctest.Wait()
		}
		text.Finish(done)
		c := readAll(t, hubs[1])
		if c.Text != strings.Repeat("糸", 10) || c.Resets > 0 {
			t.Errorf("%q, %d resets", c.Text, c.Resets)
		}
		time.Sleep(time.Minute)
		if s := hubs[0].Stats(); s.EntriesResent != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// TestRelayResendsEverythingWhenTheLogIsLost simulates a restart of NATS, which keeps texts in memory.
func TestRelayResendsEverythingWhenTheLogIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, _, hubs := joined(t, 3)
		text := hubs[0].Open(firstRun)
		interest := hubs[1].Join(firstRun.MessageID)
		defer interest.Leave()
		interest.Mirror()
		text.PutStep(stream.Step{Kind: "retrieval", Status: "success"})
		text.AppendText("なくなる前。")
		synctest.Wait()
		early := interest.Text().Watch("")
		network.Lose()
		text.AppendText("なくなった後。")
		text.Finish(done)
		for _, hub := range hubs[1:] {
			if c := readAll(t, hub); c.Text != "なくなる前。なくなった後。" || len(c.Steps) != 1 {
				t.Errorf("%q, steps %q", c.Text, c.Steps)
			}
		}
		var c client
		c.read(t, drain(early))
		if c.text != "なくなる前。なくなった後。" || !c.done {
			t.Errorf("who watched from before has %q", c.text)
		}
	})
}

// TestR30_PublisherDoesNotWaitForTheLink: text written while the link is cut is sent afterwards, in few entries.
func TestR30_PublisherDoesNotWaitForTheLink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, nodes, hubs := joined(t, 2)
		text := hubs[0].Open(firstRun)
		synctest.Wait()
		nodes[0].Cut()
		began := time.Now()
		for range 10_000 {
			text.AppendText("糸を紡ぐ")
		}
		if time.Since(began) > 0 {
			t.Error("the publisher was held up")
		}
		text.Finish(done)
		time.Sleep(30 * time.Second)
		nodes[0].Heal()
		if c := readAll(t, hubs[1]); c.Text != text.Text() {
			t.Errorf("%d bytes of %d", len(c.Text), len(text.Text()))
		}
		if n := network.Entries(firstRun.MessageID); n > 3 {
			t.Errorf("%d entries", n)
		}
	})
}

// TestUnfollowedTextIsBatched: changes of an unfollowed text are combined, because an entry costs more than all other
// work for a token.
func TestUnfollowedTextIsBatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, _, hubs := joined(t, 2)
		text := hubs[0].Open(firstRun)
		write := func(tokens int) (entries int) {
			before := network.Entries(firstRun.MessageID)
			for range tokens {
				text.AppendText("糸")
				time.Sleep(20 * time.Millisecond)
			}
			return network.Entries(firstRun.MessageID) - before
		}
		if n := write(100); n > 5 { // In two seconds.
			t.Errorf("%d entries of 100 tokens that nobody follows", n)
		}
		interest := hubs[1].Join(firstRun.MessageID)
		defer interest.Leave()
		interest.Mirror()
		synctest.Wait()
		if mirror := interest.Text(); mirror == nil || mirror.Text() != text.Text() {
			t.Error("who begins to follow has not what has gathered")
		}
		if n := write(100); n != 100 {
			t.Errorf("%d entries of 100 tokens that are followed", n)
		}
		// The writer of the next run is also notified.
		text = hubs[0].Open(stream.Head{MessageID: firstRun.MessageID, Run: 2})
		text.AppendText("糸")
		synctest.Wait()
		if n := write(100); n != 100 {
			t.Errorf("%d entries of 100 tokens of the next run", n)
		}
	})
}

func TestStaleRunIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, _, hubs := joined(t, 2)
		first := hubs[0].Open(firstRun)
		first.AppendText("古い")
		synctest.Wait()
		second := hubs[1].Open(stream.Head{MessageID: firstRun.MessageID, Run: 2})
		second.AppendText("新しい")
		synctest.Wait()
		kept := network.Entries(firstRun.MessageID)
		w := first.Watch("")
		first.AppendText("続き")
		time.Sleep(time.Second) // Batched, because no other server follows it.
		drain(w)
		if _, over := w.Wait(); !over || hubs[0].Find(firstRun.MessageID) != nil || hubs[0].Stats().StaleRuns != 1 {
			t.Errorf("over %v, %+v", over, hubs[0].Stats())
		}
		if n := network.Entries(firstRun.MessageID); n != kept {
			t.Errorf("%d entries of the stale run were kept", n-kept)
		}
	})
}

func TestStopSendsTheEndFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes, hubs := joined(t, 2)
		text := hubs[0].Open(firstRun)
		open := hubs[0].Open(stream.Head{MessageID: "0191", Run: 1})
		open.AppendText("途中")
		synctest.Wait()
		nodes[0].Cut()
		text.AppendText("最後まで")
		text.Finish(done)
		hubs[0].Close(text)
		var stopping sync.WaitGroup
		began := time.Now()
		stopping.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			hubs[0].Stop(ctx)
		})
		time.Sleep(5 * time.Second)
		nodes[0].Heal()
		stopping.Wait()
		if c := readAll(t, hubs[1]); c.Text != "最後まで" || time.Since(began) > 10*time.Second {
			t.Errorf("%q after %v", c.Text, time.Since(began))
		}
	})
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes, hubs := joined(t, 1)
		nodes[0].Cut()
		text := hubs[0].Open(firstRun)
		text.Finish(done)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		hubs[0].Stop(ctx)
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("stopped after %v", d)
		}
		if hubs[0].Open(stream.Head{MessageID: "late", Run: 1}) == nil {
			t.Error("no text after the stop")
		}
	})
}

// TestRelayGivesUp: a completed text does not stay in memory indefinitely while NATS is unavailable.
func TestRelayGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, nodes, hubs := joined(t, 1)
		nodes[0].Cut()
		// More than one entry, so that the failing entry does not contain the end.
		long := stream.Head{MessageID: "long", Run: 1}
		for _, head := range []stream.Head{firstRun, long} {
			text := hubs[0].Open(head)
			if head.MessageID == long.MessageID {
				text.AppendText(strings.Repeat("糸", 100_000))
			}
			text.Finish(done)
			hubs[0].Close(text)
		}
		time.Sleep(2 * time.Minute)
		nodes[0].Heal()
		time.Sleep(time.Minute)
		for _, head := range []stream.Head{firstRun, long} {
			if network.Entries(head.MessageID) != 0 {
				t.Errorf("%s: the relay still tries", head.MessageID)
			}
		}
	})
}
