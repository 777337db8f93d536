package streamtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

func testTakeOver(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	first := w.Writer.Hub.Open(h)
	first.AppendText("前の走り")
	var c Client
	interest := w.Successor.Hub.Join(h.MessageID)
	defer interest.Leave()
	if err := c.Follow(ctx, w.Successor.Hub, h.MessageID, func(c *Client) bool { return c.Text != "" }); err != nil {
		t.Fatal(err)
	}
	h.Run = 2
	second := w.Successor.Hub.Open(h)
	if s := w.Successor.Hub.Stats(); s.Mirrors != 0 || interest.Text() != second {
		t.Errorf("the mirror stays where the next run is written: %+v", s)
	}
	second.AppendText("次の走り")
	second.Finish(Finished)
	follow(ctx, t, &c, w.Successor.Hub, h.MessageID)
	equal(t, &c, "次の走り")
	if late := w.Successor.Hub.Open(stream.Head{
		MessageID: h.MessageID,
		Run:       1,
	}); w.Successor.Hub.Find(h.MessageID) != second {
		t.Error("an earlier run replaced a later one")
	} else if _, over := late.Watch("9-9").Wait(); over {
		t.Error("the start of an abandoned text was not sent")
	}
	w.Writer.Hub.Close(first)
	w.Successor.Hub.Close(second)
}

func testCut(t *testing.T, w World) {
	if w.Reader.Cut == nil {
		return // Without a link.
	}
	for _, who := range []Server{w.Reader, w.Writer} {
		ctx := within(t)
		h := head()
		text := w.Writer.Hub.Open(h)
		text.AppendText("切れる前。")
		var c Client
		seen := make(chan struct{})
		var reading sync.WaitGroup
		reading.Go(func() {
			var once sync.Once
			err := c.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool {
				if c.Text != "" {
					once.Do(func() { close(seen) })
				}
				return false
			})
			if err != nil {
				t.Error(err)
			}
		})
		select {
		case <-seen:
		case <-ctx.Done():
			t.Fatal("nothing was seen before the cut")
		}
		who.Cut()
		for range 200 {
			text.AppendText("切れている間に書かれたこと。")
		}
		who.Heal()
		for range 200 {
			text.AppendText("戻ってから書かれたこと。")
		}
		text.Finish(Finished)
		reading.Wait()
		equal(t, &c, text.Text())
		if c.Resets > 0 {
			t.Errorf("%d resets", c.Resets)
		}
		w.Writer.Hub.Close(text)
	}
}

func testFeed(t *testing.T, w World) {
	ctx := within(t)
	topic := "user/" + head().MessageID + " *.>\n"
	s := w.Reader.Feed.Subscribe(topic)
	defer s.Leave()
	own := w.Writer.Feed.Subscribe(topic)
	defer own.Leave()
	reach(ctx, t, w)
	for i := range 200 {
		w.Writer.Feed.Publish("user/another", []byte("x"))
		w.Writer.Feed.Publish(topic, fmt.Appendf(nil, "%d", i))
	}
	for _, s := range []*stream.Subscription{s, own} {
		for i := range 200 {
			event, err := s.Next(ctx)
			if err != nil || string(event) != fmt.Sprint(i) {
				t.Fatalf("event %d: %q, %v", i, event, err)
			}
		}
	}
}

// reach returns when the reader's server receives the events of the writer's server, because a new subscription takes a
// moment to reach all servers.
func reach(ctx context.Context, t *testing.T, w World) {
	t.Helper()
	topic := head().MessageID
	s := w.Reader.Feed.Subscribe(topic)
	defer s.Leave()
	for {
		w.Writer.Feed.Publish(topic, []byte("hello"))
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		_, err := s.Next(short)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("events do not reach the other server")
		}
	}
}

func testFeedCut(t *testing.T, w World) {
	if w.Reader.Cut == nil {
		return // Without a link.
	}
	ctx := within(t)
	topic := "user/" + head().MessageID
	s := w.Reader.Feed.Subscribe(topic)
	defer s.Leave()
	w.Reader.Cut()
	w.Reader.Heal()
	if event, err := s.Next(ctx); !errors.Is(err, stream.ErrMissed) {
		t.Fatalf("after a cut: %q, %v", event, err)
	}
	w.Writer.Feed.Publish(topic, []byte("again"))
	if event, err := s.Next(ctx); err != nil || string(event) != "again" {
		t.Fatalf("%q, %v", event, err)
	}
}
