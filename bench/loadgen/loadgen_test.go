package main

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

func TestHistogram(t *testing.T) {
	t.Parallel()
	var h histogram
	if got := h.quantile(0.99); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	values := make([]time.Duration, 10_000)
	for i := range values {
		values[i] = time.Duration(rand.Int64N(int64(time.Minute))) >> rand.IntN(20)
		h.add(values[i])
	}
	slices.Sort(values)
	for _, q := range []float64{0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		want, got := values[int(q*float64(len(values)))-1], h.quantile(q)
		if diff := (got - want).Abs(); diff > want/50+time.Microsecond {
			t.Errorf("p%v: got %v, want %v", q*100, got, want)
		}
	}
	last := -1
	for n := uint64(0); n < 1<<20; n++ {
		bucket := bucketOf(n)
		if bucket < last || bucket > last+1 || startOf(bucket) > n || startOf(bucket+1) <= n {
			t.Fatalf("%d is in bucket %d, which begins at %d", n, bucket, startOf(bucket))
		}
		last = bucket
	}
}

func TestWatchTimesDueTokens(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Microsecond)
	const token, every = llmtest.TokenBytes, 10 * time.Millisecond
	text := llmtest.NumberedText(6, began)
	l := &load{client: &tsumugi.Client{}}
	w := newWatch(l, &asked{}, every)
	w.live = began.Add(15 * time.Millisecond) // Tokens 0 and 1 were sent before the client joined.
	for at := 0; at < len(text); at += 3 * token {
		w.take(tsumugi.Event{Type: "text-delta", Text: string(text[at : at+3*token])}, began.Add(55*time.Millisecond))
	}
	s := &l.stats
	if s.tokens.Load() != 4 || s.lag.total.Load() != 4 || time.Duration(s.lag.most.Load()) != 35*time.Millisecond {
		t.Errorf("%d tokens, the latest by %v", s.tokens.Load(), time.Duration(s.lag.most.Load()))
	}
	if w.sum() != fmt.Sprintf("%x", sha256.Sum256(text)) {
		t.Error("the text differs")
	}
	w.take(tsumugi.Event{Type: "data-reset"}, began)
	if w.sum() != fmt.Sprintf("%x", sha256.Sum256(nil)) || w.have != 0 {
		t.Error("a reset does not remove the text")
	}
}
