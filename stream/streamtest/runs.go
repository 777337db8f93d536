package streamtest

import (
	"sync"
	"testing"

	"github.com/tsumugi-ai/tsumugi/stream"
)

func testNextRun(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	first := w.Writer.Hub.Open(h)
	first.PutChange(1, change("古", "旧"))
	first.PutChange(2, change("消", "える"))
	first.AppendText("途中まで")
	var c Client
	if err := c.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool { return c.Text == "途中まで" }); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		var once sync.Once
		err := c.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool {
			if c.Run == 2 && c.Text != "" {
				once.Do(func() { close(begun) })
			}
			return false
		})
		if err != nil {
			t.Error(err)
		}
	})
	h.Run = 2
	second := w.Successor.Hub.Open(h)
	second.PutChange(1, change("新", "改"))
	second.AppendText("はじめから")
	select {
	case <-begun:
	case <-ctx.Done():
		t.Fatal("the next run was not seen")
	}
	// The server was only slow and continues to write. No client sees its text, and the server is notified.
	first.AppendText("、古い続き")
	first.Finish(Finished)
	second.AppendText("書きます")
	second.Finish(Finished)
	reading.Wait()
	equal(t, &c, "はじめから書きます")
	if c.Run != 2 || c.Resets == 0 {
		t.Errorf("run %d, %d resets", c.Run, c.Resets)
	}
	if len(c.Changes) != 1 || c.Changes["1"] != "新 → 改" {
		t.Errorf("changes %q", c.Changes)
	}
	w.Writer.Hub.Close(first)
	w.Successor.Hub.Close(second)
}

// testContinued: clients with a part of the text that the next run continues keep it; the others are reset.
func testContinued(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	first := w.Writer.Hub.Open(h)
	var kept, ahead, early Client
	read := func(c *Client, hub *stream.Hub, text string) {
		t.Helper()
		if err := c.Follow(ctx, hub, h.MessageID, func(c *Client) bool { return c.Text == text }); err != nil {
			t.Fatal(err)
		}
	}
	if text := w.Successor.Hub.ReadLog(ctx, "no such message"); text != nil {
		t.Errorf("a text %q without a log", text.Text())
	}
	first.AppendText("まゆ")
	read(&early, w.Reader.Hub, "まゆ")
	first.AppendText("から糸を")
	read(&kept, w.Reader.Hub, "まゆから糸を")
	if !w.alone() { // Everything that a client of another server has shown can be read from the log.
		if text := w.Successor.Hub.ReadLog(ctx, h.MessageID); text == nil || text.Text() != "まゆから糸を" || text.Run() != 1 {
			t.Errorf("the log has %+v", text)
		}
	}
	first.AppendText("引く")
	read(&ahead, w.Writer.Hub, "まゆから糸を引く") // More than survives.

	second := stream.NewText(stream.Head{MessageID: h.MessageID, Run: 2})
	second.PutStep(stream.Step{Kind: "retrieval", Status: "running"})
	second.Continue("まゆから糸を", h.Continue(len("まゆから糸を")))
	w.Successor.Hub.Register(second)
	second.AppendText("つむぐ")
	read(&kept, w.Successor.Hub, "まゆから糸をつむぐ")
	if kept.Resets != 0 || kept.Run != 2 {
		t.Errorf("run %d, %d resets", kept.Run, kept.Resets)
	}

	third := stream.NewText(stream.Head{MessageID: h.MessageID, Run: 3})
	third.Continue("まゆから", second.Head().Continue(len("まゆから")))
	w.Writer.Hub.Register(third)
	third.AppendText("絹へ")
	third.Finish(Finished)
	clients := map[string]*Client{"early": &early, "kept": &kept, "ahead": &ahead, "new": {}}
	for name, c := range clients {
		hub := w.Reader.Hub
		if name == "early" || name == "new" {
			hub = w.Writer.Hub // A mirror may first show the end of the first run, which is withdrawn.
		}
		follow(ctx, t, c, hub, h.MessageID)
		equal(t, c, "まゆから絹へ")
		want := map[string]int{"kept": 1, "ahead": 1}[name]
		most := want
		if hub != w.Writer.Hub {
			most++ // A mirror may show the second run before the third.
		}
		if c.Resets < want || c.Resets > most || c.Run != 3 {
			t.Errorf("%s: run %d, %d resets, want %d", name, c.Run, c.Resets, want)
		}
	}
	if text := third.Head(); text.Accepts(stream.Cursor{Run: 2, Offset: len("まゆから") + 1}) ||
		!text.Accepts(stream.Cursor{Run: 1, Offset: len("まゆから")}) {
		t.Errorf("continued %v", text.Continued)
	}
	for _, text := range []*stream.Text{first, second, third} {
		w.Successor.Hub.Close(text)
		w.Writer.Hub.Close(text)
	}
}
