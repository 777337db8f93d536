package bridge_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/bridge"
	"github.com/tsumugi-ai/tsumugi/stream/bridge/bridgetest"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

var head = stream.Head{MessageID: "0190f3c2", Run: 1}

// testTimeout bounds every wait of these tests.
const testTimeout = 3 * time.Minute

var finished = stream.End{Outcome: stream.Finished, FinishReason: "stop"}

// reading reads a message to its end in the background. seen returns when some of its text has been received.
func reading(t *testing.T, hub *stream.Hub) (seen, done func() *streamtest.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	c := &streamtest.Client{}
	first, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer cancel()
		defer close(over)
		var once sync.Once
		err := c.Follow(ctx, hub, head.MessageID, func(c *streamtest.Client) bool {
			if c.Text != "" {
				once.Do(func() { close(first) })
			}
			return false
		})
		if err != nil {
			t.Error(err)
			once.Do(func() { close(first) })
		}
	}()
	wait := func(c2 <-chan struct{}) func() *streamtest.Client {
		return func() *streamtest.Client {
			<-c2
			return c
		}
	}
	return wait(first), wait(over)
}

// TestR30_TheLeaderDiesMidAnswer kills the node that leads the stream, and restarts it without its memory.
func TestR30_TheLeaderDiesMidAnswer(t *testing.T) {
	t.Parallel()
	nodes := bridgetest.NewCluster(t, 3)
	writer, reader := streamtest.NewServer(t, connect(t, nodes.URLs(0))),
		streamtest.NewServer(t, connect(t, nodes.URLs(1)))
	text := writer.Hub.Open(head)
	text.AppendText("はじめ。")
	seen, done := reading(t, reader.Hub)
	seen()
	leader := -1
	must.Become(t, "a leader is elected", func() bool { leader = nodes.Leader(bridge.StreamName); return leader >= 0 })
	nodes.Stop(leader)
	text.AppendText(strings.Repeat("一台がいない間。", 1000))
	nodes.Restart(t, leader)
	text.AppendText("おわり。")
	text.Finish(finished)
	if c := done(); c.Text != text.Text() || c.Resets > 0 {
		t.Errorf("%d bytes of %d, %d resets", len(c.Text), len(text.Text()), c.Resets)
	}
}

// TestR30_TheOnlyNodeIsRestarted: the node restarts without the stream. Writers publish everything again, and readers
// start again.
func TestR30_TheOnlyNodeIsRestarted(t *testing.T) {
	t.Parallel()
	nodes := bridgetest.NewCluster(t, 1)
	writer, reader := streamtest.NewServer(t, connect(t, nodes.URL(0))),
		streamtest.NewServer(t, connect(t, nodes.URL(0)))
	text := writer.Hub.Open(head)
	text.AppendText("はじめ。")
	seen, done := reading(t, reader.Hub)
	seen()
	nodes.Stop(0)
	text.AppendText("一台もいない間。")
	nodes.Restart(t, 0)
	text.AppendText("おわり。")
	late := streamtest.NewServer(t, connect(t, nodes.URL(0)))
	_, lateDone := reading(t, late.Hub)
	text.Finish(finished)
	for _, c := range []*streamtest.Client{done(), lateDone()} {
		if c.Text != text.Text() || c.Resets > 0 {
			t.Errorf("%d bytes of %d, %d resets", len(c.Text), len(text.Text()), c.Resets)
		}
	}
}

// TestServersStartAtTheSameTime: all servers try to create the stream, and all can use it.
func TestServersStartAtTheSameTime(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		nodes := bridgetest.NewCluster(t, n)
		var starting sync.WaitGroup
		for i := range 5 {
			starting.Go(func() {
				b, err := bridge.Connect(t.Context(), bridge.Config{
					URL: nodes.URL(i % n), MaxBytes: int64(1+i) << 20,
					ConnectTimeout: testTimeout,
				})
				if err != nil {
					t.Error(err)
					return
				}
				defer b.Close()
				w := b.Writer("m", 1+i)
				defer w.Close()
				ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
				defer cancel()
				for err = w.Append(ctx, []byte("x")); err != nil &&
					!errors.Is(err, stream.ErrStale); err = w.Append(ctx, []byte("x")) {
					if ctx.Err() != nil { // This node may not know the stream before.
						t.Error(err)
						return
					}
				}
			})
		}
		starting.Wait()
	}
}

// TestWriterIsFenced: the log decides which run may write.
func TestWriterIsFenced(t *testing.T) {
	t.Parallel()
	b := connect(t, cluster.URLs(0))
	id := uuid.NewString()
	first, second := b.Writer(id, 1), b.Writer(id, 2)
	for i, step := range []struct {
		w    stream.LogWriter
		want error
	}{
		{first, nil},
		{first, nil},
		{second, nil},
		{first, stream.ErrStale},
		{second, nil},
		{first, stream.ErrStale},
		{b.Writer(id, 1), stream.ErrStale},
	} {
		if err := step.w.Append(t.Context(), []byte{byte(i)}); !errors.Is(err, step.want) {
			t.Fatalf("step %d: %v, want %v", i, err, step.want)
		}
	}
	if got := entries(t, b, id, 4); string(got) != "\x00\x01\x02\x04" {
		t.Errorf("kept %v", got)
	}
}

// entries returns the first bytes of a message's first n entries.
func entries(t *testing.T, b *bridge.Bridge, messageID string, n int) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	var got []byte
	err := b.Follow(ctx, messageID, func(entry []byte, _ bool) {
		if got = append(got, entry[0]); len(got) == n {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%d entries: %v", len(got), err)
	}
	return got
}

// TestWriterDetectsALostLog purges a run's entries while it writes, as when NATS loses its memory.
func TestWriterDetectsALostLog(t *testing.T) {
	t.Parallel()
	b := connect(t, cluster.URL(0))
	id := uuid.NewString()
	texts, subject := texts(t), "tsumugi.text.t"+base64.RawURLEncoding.EncodeToString([]byte(id))
	w := b.Writer(id, 2)
	for i, want := range []error{nil, stream.ErrLost, nil, stream.ErrLost} {
		if err := w.Append(t.Context(), []byte{byte(i)}); !errors.Is(err, want) {
			t.Fatalf("append %d: %v, want %v", i, err, want)
		}
		if want != nil {
			continue
		}
		must.Succeed(t, texts.Purge(t.Context(), jetstream.WithPurgeSubject(subject)))
		if i == 2 { // Replaced by a stale run.
			must.Succeed(t, b.Writer(id, 1).Append(t.Context(), []byte("x")))
		}
	}
}

// TestEndedRunIsForgotten: a text is purged when it is no longer needed. Entries of a later run are kept.
func TestEndedRunIsForgotten(t *testing.T) {
	t.Parallel()
	b := must.Get(bridge.Connect(t.Context(), bridge.Config{
		URL: cluster.URL(0), Forget: time.Nanosecond,
		ConnectTimeout: testTimeout,
	}))(t)
	defer b.Close()
	id := uuid.NewString()
	first, second := b.Writer(id, 1), b.Writer(id, 2)
	for _, w := range []stream.LogWriter{first, first, second} {
		must.Succeed(t, w.Append(t.Context(), []byte("x")))
	}
	first.Close()
	left := uint64(3)
	for texts := texts(t); left > 1; {
		info := must.Get(texts.Info(
			t.Context(), jetstream.WithSubjectFilter("tsumugi.text.t"+base64.RawURLEncoding.EncodeToString([]byte(id))),
		))(t)
		left = 0
		for _, n := range info.State.Subjects {
			left += n
		}
	}
	if left != 1 {
		t.Errorf("%d entries are left", left)
	}
}

// texts returns the JetStream stream of texts.
func texts(t *testing.T) jetstream.Stream {
	t.Helper()
	nc, err := nats.Connect(cluster.URL(1))
	must.Succeed(t, err)
	t.Cleanup(nc.Close)
	js := must.Get(jetstream.New(nc))(t)
	var s jetstream.Stream
	must.Become(t, "the stream exists", func() bool {
		s, err = js.Stream(t.Context(), bridge.StreamName)
		return err == nil
	})
	return s
}

// TestAnySubject: message ids and topics may be any strings.
func TestAnySubject(t *testing.T) {
	t.Parallel()
	b := connect(t, cluster.URLs(0))
	for _, id := range []string{"", "*", ">", "a.b", " ", "\r\n", "糸"} {
		if err := b.Writer(id, 1).Append(t.Context(), []byte("x")); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	if got := entries(t, b, "*", 1); len(got) != 1 {
		t.Errorf("%q", got)
	}
}
