package stream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func newFeed(t *testing.T) *stream.Feed {
	t.Helper()
	feed := must.Get(stream.NewFeed(nil))(t)
	return feed
}

func TestSubscriptionsToSeveralTopicsKeepTheOrder(t *testing.T) {
	t.Parallel()
	feed := newFeed(t)
	s := feed.Subscribe("user/1", "all")
	defer s.Leave()
	feed.Publish("user/1", []byte("a"))
	feed.PublishLocal("all", []byte("b"))
	feed.Publish("user/2", []byte("c"))
	feed.MarkMissed()
	feed.Publish("user/1", []byte("d"))
	for _, want := range []string{"a", "b", "missed", "d"} {
		event, err := s.Next(t.Context())
		got := string(event)
		if errors.Is(err, stream.ErrMissed) {
			got, err = "missed", nil
		}
		if err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if event, err := s.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", event, err)
	}
}

func TestSlowSubscriberGetsErrTooSlow(t *testing.T) {
	t.Parallel()
	feed := newFeed(t)
	slow, other := feed.Subscribe("a"), feed.Subscribe("b")
	defer slow.Leave()
	defer other.Leave()
	for range 1000 {
		feed.Publish("a", []byte("x")) // Does not block.
	}
	if _, err := slow.Next(t.Context()); !errors.Is(err, stream.ErrTooSlow) {
		t.Errorf("got %v", err)
	}
	feed.Publish("b", []byte("y"))
	if event, err := other.Next(t.Context()); err != nil || string(event) != "y" {
		t.Errorf("another subscriber: %q, %v", event, err)
	}
}
