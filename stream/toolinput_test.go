package stream_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestUnfinishedCallsOfASlowClient: a client that has not read for more than the log's window receives the arguments so
// far again, from their start.
func TestUnfinishedCallsOfASlowClient(t *testing.T) {
	t.Parallel()
	text, client := newText(1), newCaller(t)
	put := func(arguments string) {
		text.PutToolInputs([]stream.ToolInput{{ID: "a", Name: "write", Arguments: []byte(arguments)}})
	}
	watch := text.Watch("")
	put(`{"n":"`)
	client.read(string(watch.Take()))
	for range 2000 {
		text.AppendText(strings.Repeat("紡ぐ", 200))
	}
	put(`{"n":"途中`)
	client.read(string(drain(watch)))
	if client.unfinished["a"] != `{"n":"途中` || client.text != text.Text() {
		t.Errorf("arguments %q", client.unfinished["a"])
	}
	long := strings.Repeat("あ", 10000)
	put(long)
	client.read(string(drain(watch)))
	late := newCaller(t)
	late.read(string(drain(text.Watch(""))))
	for _, c := range []*caller{client, late} {
		if got := c.unfinished["a"]; len(got) < 16000 || len(got) > 16<<10 || !strings.HasSuffix(long, got[15:]) {
			t.Errorf("%d bytes of long arguments", len(got))
		}
	}
}

// TestOtherServersReceiveCompleteCallsOnly: unfinished calls change no position, so that other servers are sent nothing.
func TestOtherServersReceiveCompleteCallsOnly(t *testing.T) {
	t.Parallel()
	text, mirror := newText(1), newText(1)
	text.PutRound(0)
	update, position := text.Since(stream.Position{})
	must.Succeed(t, mirror.Apply(update))
	text.PutToolInputs([]stream.ToolInput{{ID: "a", Name: "calculate", Arguments: []byte(`{"a"`)}})
	update, unchanged := text.Since(position)
	if len(update.Parts) > 0 || unchanged != position {
		t.Errorf("the update has %+v", update)
	}
	watch := mirror.Watch("")
	text.PutToolCall(stream.ToolCall{ID: "a", Name: "calculate", Input: json.RawMessage(`{"a":1}`)})
	update, _ = text.Since(position)
	must.Succeed(t, mirror.Apply(update))
	client := newCaller(t)
	client.read(string(drain(watch)))
	if len(client.calls) != 1 || len(client.unfinished) > 0 {
		t.Errorf("%v, unfinished %v", client.calls, client.unfinished)
	}
}
