package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
)

// TestAnyMixtureOfFaults: links, logs and servers fail in random order while an answer is written and followed. Every
// client has a prefix of the text at any time, and the whole text in the end.
func TestAnyMixtureOfFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newSimulation(t, seed).run() })
		})
	}
}

// simulation has an answer, the servers that write and serve it, and the state of its database record.
type simulation struct {
	t       *testing.T
	rng     *rand.Rand // For the goroutine that writes.
	network *streamtest.Network
	nodes   []*streamtest.Node
	hubs    []*stream.Hub

	server int          // Index of the writing server.
	text   *stream.Text // The text of the current run.
	behind []func()     // Remaining work of servers that were considered failed.

	mu     sync.Mutex
	now    int                      // Guarded by mu. The current run.
	runs   map[int]*strings.Builder // Guarded by mu. The text written in each run.
	stored *string                  // Guarded by mu. The answer, once it is complete.
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	o := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 0)), runs: make(map[int]*strings.Builder)}
	o.network, o.nodes, o.hubs = joined(t, 3)
	return o
}

// maxPause bounds the pauses between steps.
const maxPause = 3 * time.Second

// randomPart returns a random duration below most.
func randomPart(rng *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(most)))
}

func (o *simulation) run() {
	o.begin()
	var clients sync.WaitGroup
	for range 6 {
		rng := rand.New(rand.NewPCG(o.rng.Uint64(), 0))
		clients.Go(func() { o.follow(rng) })
	}
	for range 50 + o.rng.IntN(250) {
		o.step()
	}
	o.settle()
	o.finish()
	clients.Wait()
	time.Sleep(10 * time.Minute)
	for i, hub := range o.hubs {
		if s := hub.Stats(); s.Texts+s.Mirrors+o.nodes[i].Followers() > 0 {
			o.t.Errorf("server %d keeps something: %+v", i, s)
		}
	}
}

// begin starts the next run on a server.
func (o *simulation) begin() {
	o.mu.Lock()
	o.now++
	o.runs[o.now] = &strings.Builder{}
	head := stream.Head{MessageID: firstRun.MessageID, Run: o.now}
	o.mu.Unlock()
	o.server = o.rng.IntN(len(o.hubs))
	o.text = o.hubs[o.server].Open(head)
}

// step makes a random change.
func (o *simulation) step() {
	node := o.nodes[o.rng.IntN(len(o.nodes))]
	switch n := o.rng.IntN(100); {
	case n < 50:
		o.write(o.piece())
	case n < 70:
		time.Sleep(randomPart(o.rng, maxPause/4))
	case n < 74:
		o.text.PutStep(stream.Step{Kind: "retrieval", Status: []string{"running", "success"}[o.rng.IntN(2)]})
	case n < 76:
		o.text.PutTitle(o.piece(), time.Time{})
	case n < 82:
		node.Cut()
	case n < 91:
		node.Heal()
	case n < 93:
		node.LoseAcks(o.rng.IntN(3))
	case n < 94:
		o.network.Lose()
	case n < 96:
		o.takeOver()
	case n < 97:
		o.settle()
	default:
		if i := len(o.behind) - 1; i >= 0 {
			o.behind[i]()
			o.behind = o.behind[:i]
		}
	}
}

// piece returns text to write: usually a few characters, rarely more than fit into one entry.
func (o *simulation) piece() string {
	from := o.rng.IntN(len(sample))
	piece := sample[from:min(len(sample), from+1+o.rng.IntN(40))]
	if o.rng.IntN(60) == 0 {
		piece = strings.Repeat(piece, 1+o.rng.IntN(400_000/len(piece)))
	}
	return piece
}

func (o *simulation) write(piece string) {
	o.mu.Lock()
	o.runs[o.now].WriteString(strings.ToValidUTF8(piece, "\uFFFD"))
	o.mu.Unlock()
	o.text.AppendText(piece)
}

// takeOver begins the next run on a random server. The previous server is notified late, or was cut off before.
func (o *simulation) takeOver() {
	hub, earlier := o.hubs[o.server], o.text
	lose := func() { hub.Close(earlier) }
	if o.rng.IntN(2) == 0 {
		lose()
		time.Sleep(randomPart(o.rng, maxPause))
	} else {
		o.behind = append(o.behind, lose)
	}
	o.begin()
}

// settle repairs all faults, and returns when every server has sent the whole text to a client.
func (o *simulation) settle() {
	for _, node := range o.nodes {
		node.Heal()
	}
	for _, f := range o.behind {
		f()
	}
	o.behind = nil
	o.write("。") // The next entry detects that the log was lost.
	o.mu.Lock()
	all := o.runs[o.now].String()
	o.mu.Unlock()
	for i, hub := range o.hubs {
		var c streamtest.Client
		for deadline := time.Now().Add(5 * time.Minute); c.Text != all; time.Sleep(time.Second) {
			if time.Now().After(deadline) {
				o.t.Errorf("server %d tells %d bytes of %d", i, len(c.Text), len(all))
				return
			}
			o.visit(hub, &c, time.After(time.Minute), func() bool { return c.Text == all })
		}
	}
}

// finish stores the answer and then publishes its end.
func (o *simulation) finish() {
	text := o.text.Text()
	o.mu.Lock()
	if written := o.runs[o.now].String(); text != written {
		o.t.Errorf("run %d: %d bytes of %d are stored", o.now, len(text), len(written))
	}
	o.stored = &text
	o.mu.Unlock()
	time.Sleep(randomPart(o.rng, maxPause))
	o.text.PutTitle("題", time.Time{})
	o.text.Finish(done)
	time.Sleep(randomPart(o.rng, maxPause))
	o.hubs[o.server].Close(o.text)
}

// look returns the database record.
func (o *simulation) look() (run int, stored *string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now, o.stored
}

// follow is a client that is disconnected and reconnects through random servers until it has read the end. Sometimes it
// reads slowly.
func (o *simulation) follow(rng *rand.Rand) {
	var c streamtest.Client
	for !c.Done && !o.t.Failed() {
		o.visit(o.hubs[rng.IntN(len(o.hubs))], &c, time.After(randomPart(rng, 4*maxPause)), func() bool {
			if rng.IntN(20) == 0 {
				time.Sleep(randomPart(rng, maxPause))
			}
			return false
		})
		time.Sleep(randomPart(rng, maxPause))
	}
	if _, stored := o.look(); stored == nil || c.Text != *stored || c.End != "finish" {
		o.t.Errorf("a client ends with %q and %d bytes", c.End, len(c.Text))
	}
}

// visit reads one connection of a client to a server until the stream ends, the timer fires, or enough returns true.
func (o *simulation) visit(hub *stream.Hub, c *streamtest.Client, end <-chan time.Time, enough func() bool) {
	interest := hub.Join(firstRun.MessageID)
	defer interest.Leave()
	text := o.attach(hub, interest)
	if text == nil || !o.reach(text, c.Cursor) {
		return
	}
	w := text.Watch(c.Cursor)
	for {
		for b := w.Take(); b != nil; b = w.Take() {
			if o.read(c, b); enough() || o.t.Failed() {
				return
			}
		}
		more, over := w.Wait()
		if over {
			return
		}
		select {
		case <-more:
		case <-end:
			return
		}
	}
}

// read passes a piece of a stream to a client, and checks that the client's text is a prefix of the text of its run.
func (o *simulation) read(c *streamtest.Client, piece []byte) {
	if err := c.Read(piece); err != nil {
		o.t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if written := o.runs[c.Run]; written == nil || !strings.HasPrefix(written.String(), c.Text) {
		o.t.Errorf("%d bytes are not what run %d wrote", len(c.Text), c.Run)
	}
}

// attach returns the answer's text on a server, or nil if the client should try again.
func (o *simulation) attach(hub *stream.Hub, interest *stream.Interest) *stream.Text {
	run, _ := o.look()
	text := interest.Text()
	if text != nil && text.Run() < run {
		hub.Drop(firstRun.MessageID, run-1)
		if text = interest.Text(); text != nil && text.Run() < run {
			return nil // The server is still writing and has not yet detected that it was replaced.
		}
	}
	if text != nil {
		return text
	}
	opened := interest.Opened()
	if run, stored := o.look(); stored != nil {
		replayed := stream.NewText(stream.Head{MessageID: firstRun.MessageID, Run: run})
		replayed.AppendText(*stored)
		replayed.Finish(done)
		return replayed
	}
	interest.Mirror()
	select {
	case <-opened:
	case <-time.After(5 * time.Second):
	}
	return interest.Text()
}

func (o *simulation) reach(text *stream.Text, cursor string) bool {
	ctx, cancel := context.WithTimeout(o.t.Context(), 10*time.Second)
	defer cancel()
	return text.WaitForCursor(ctx, cursor)
}
