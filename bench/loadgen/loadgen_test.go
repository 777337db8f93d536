package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

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

// wire is an answer of three deltas as the server sends it, with a line break, and what a client has in the end.
func wire(text []byte, parts ...int) []byte {
	var b bytes.Buffer
	b.WriteString("retry: 1700\n\ndata: {\"type\":\"start\",\"messageId\":\"1\",\"messageMetadata\":{\"run\":1}}\n\n:\n\n" +
		"data: {\"type\":\"text-start\",\"id\":\"0\"}\n\n")
	at := 0
	for _, n := range parts {
		piece := bytes.ReplaceAll(text[at:at+n], []byte("\n"), []byte(`\n`))
		at += n
		fmt.Fprintf(&b, "data: %s%s%s\nid: 1-%d\n\n", deltaStart, piece, deltaEnd, at)
	}
	fmt.Fprintf(&b, "data: {\"type\":\"text-end\",\"id\":\"0\"}\n\ndata: {\"type\":\"finish\",\"finishReason\":\"stop\"}\nid: 1-%d\n\ndata: [DONE]\n\n", at)
	return b.Bytes()
}

func TestAnswerReadsEventsHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	text := []byte("一二三\n\"四\n五")
	stream := wire(text, 6, 4, len(text)-10)
	stream = bytes.ReplaceAll(stream, []byte(`"四`), []byte(`\"四`))
	for step := 1; step <= len(stream); step++ {
		var s stats
		a := newAnswer(&s, 0)
		done := false
		for rest := stream; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			done = a.Take(rest[:min(step, len(rest))], time.Time{})
		}
		if !done || a.sum() != fmt.Sprintf("%x", sha256.Sum256(text)) || s.lost.Load()+s.repeated.Load() != 0 {
			t.Fatalf("in steps of %d: done %v, has %d of %d bytes, lost %d, repeated %d", step, done, a.have, len(text), s.lost.Load(), s.repeated.Load())
		}
		if a.cursor != fmt.Sprintf("1-%d", len(text)) || a.retry != 1700*time.Millisecond {
			t.Fatalf("in steps of %d: cursor %q, retry %v", step, a.cursor, a.retry)
		}
	}
}

func TestAnswerCommitsItsCursorAtTheBlankLine(t *testing.T) {
	t.Parallel()
	var s stats
	a := newAnswer(&s, 0)
	a.Take([]byte("data: "+deltaStart+"一"+deltaEnd+"\nid: 1-3\n\ndata: "+deltaStart+"二"+deltaEnd+"\nid: 1-6\n"), time.Time{})
	a.reconnect()
	if a.cursor != "1-3" || a.have != 3 {
		t.Fatalf("the cursor is %q after %d bytes", a.cursor, a.have)
	}
	a.Take([]byte("data: "+deltaStart+"二"+deltaEnd+"\nid: 1-6\n\n"), time.Time{})
	if a.cursor != "1-6" || a.sum() != fmt.Sprintf("%x", sha256.Sum256([]byte("一二"))) || s.lost.Load()+s.repeated.Load() != 0 {
		t.Errorf("the cursor is %q, lost %d, repeated %d", a.cursor, s.lost.Load(), s.repeated.Load())
	}
}

func TestAnswerSeesWhatIsLostRepeatedAndReset(t *testing.T) {
	t.Parallel()
	delta := func(offset int, text string) string {
		return fmt.Sprintf("data: %s%s%s\nid: 1-%d\n\n", deltaStart, text, deltaEnd, offset)
	}
	for name, test := range map[string]struct {
		stream                 string
		lost, repeated, resets int64
	}{
		"lost":     {delta(3, "一") + delta(9, "三"), 3, 0, 0},
		"repeated": {delta(3, "一") + delta(3, "一"), 0, 3, 0},
		"reset":    {delta(3, "一") + "data: {\"type\":\"data-reset\",\"data\":{\"run\":2}}\n\n" + delta(3, "二"), 0, 0, 1},
		"no end":   {delta(3, "一") + "data: {\"type\":\"finish\"}\nid: 1-6\n\n", 3, 0, 0},
		"no JSON":  {"data: {\n\n", 1, 0, 0},
	} {
		var s stats
		newAnswer(&s, 0).Take([]byte(test.stream), time.Time{})
		if s.lost.Load() != test.lost || s.repeated.Load() != test.repeated || s.resets.Load() != test.resets {
			t.Errorf("%s: lost %d, repeated %d, resets %d", name, s.lost.Load(), s.repeated.Load(), s.resets.Load())
		}
	}
}

func TestAnswerTimesWhatCameWhenItWasDue(t *testing.T) {
	t.Parallel()
	began := time.Now().Truncate(time.Microsecond)
	const token, every = llmtest.TokenBytes, 10 * time.Millisecond
	text := llmtest.NumberedText(6, began)
	var s stats
	a := newAnswer(&s, every)
	a.live = began.Add(15 * time.Millisecond) // Tokens 0 and 1 came before the client.
	a.Take(wire(text, 3*token, 3*token), began.Add(55*time.Millisecond))
	if s.tokens.Load() != 4 || s.lag.total.Load() != 4 || time.Duration(s.lag.most.Load()) != 35*time.Millisecond {
		t.Errorf("%d tokens, the latest by %v", s.tokens.Load(), time.Duration(s.lag.most.Load()))
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(wire([]byte("一二三四"), 6, 6), 7)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		var s1, s2 stats
		whole, cutUp := newAnswer(&s1, 0), newAnswer(&s2, 0)
		whole.Take(stream, time.Time{})
		cut = min(max(cut, 0), len(stream))
		cutUp.Take(stream[:cut], time.Time{})
		cutUp.Take(stream[cut:], time.Time{})
		if whole.sum() != cutUp.sum() || whole.cursor != cutUp.cursor || s1.lost.Load() != s2.lost.Load() {
			t.Errorf("%q cut at %d is another answer", stream, cut)
		}
	})
}
