// Package streamtest has the tests that every stream.Transport must pass, a network in memory and a client.
package streamtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Server is one of several connected servers.
type Server struct {
	Hub  *stream.Hub
	Feed *stream.Feed

	// Cut breaks the server's link to the others, and Heal restores it. Both are nil without a link.
	Cut, Heal func()
}

// NewServer returns a server on a transport, nil for a single server. It is closed when the test ends.
func NewServer(tb testing.TB, transport stream.Transport) Server {
	tb.Helper()
	hub := stream.NewHub(stream.HubConfig{Transport: transport})
	feed, err := stream.NewFeed(transport)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		hub.Stop(ctx)
		feed.Close()
	})
	return Server{Hub: hub, Feed: feed}
}

// World has the servers of one test. With a single server, all three are the same.
type World struct {
	Writer, Successor, Reader Server
	Rounds                    int // Number of repetitions of a race.
}

// alone reports whether there is only one server.
func (w World) alone() bool { return w.Writer.Hub == w.Reader.Hub }

// testTimeout bounds every wait of the suite.
const testTimeout = 10 * time.Minute

// sample has characters of one to four bytes, combining characters, and everything that could break a line of an event
// stream.
const sample = "こんにちは、**「重要」**です。\r\ndata: x\n\nid: 9-9\n\u2028𠮷野家👨‍👩‍👧 \x00\x07\"\\ \ufeff終わり\t🍣"

// Finished is the end of a successful answer.
var Finished = stream.End{
	Outcome: stream.Finished, FinishReason: "stop", Metadata: json.RawMessage(`{"usage":{"output_tokens":3}}`),
}

// lastID numbers the messages of all tests.
var lastID atomic.Int64

// head returns the head of a new message's first run.
func head() stream.Head {
	id := fmt.Sprintf("0190f3c2-%d", lastID.Add(1))
	return stream.Head{MessageID: id, Run: 1, Metadata: json.RawMessage(`{"thread_id":"a thread","n":1}`)}
}

// Suite tests the servers of newWorld.
func Suite(t *testing.T, newWorld func(t *testing.T) World) {
	for name, test := range map[string]func(*testing.T, World){
		"R04_CursorsRiseAndOneEndComesLast":       testEnds,
		"R05_ResumeFromEveryOffset":               testResume,
		"R06_FollowWhilePublishing":               testRace,
		"R07_ManyDropsOneAnswer":                  testDrops,
		"R08_CursorsThatDoNotHoldAreReset":        testCursors,
		"R20_TheNextRunTakesItsPlace":             testNextRun,
		"R20_AContinuedRunKeepsTheText":           testContinued,
		"R30_ALinkIsCutAndMended":                 testCut,
		"PartsAndWhatFollowsTheText":              testParts,
		"ReasoningBeforeTheText":                  testReasoning,
		"WhoJoinsFirstIsTold":                     testJoinFirst,
		"ManyWatchersOneMirror":                   testMany,
		"ALongTextInOnePiece":                     testLong,
		"EventsReachOtherServersInOrder":          testFeed,
		"EventsMayBeMissedWhileTheLinkIsCut":      testFeedCut,
		"AServerThatTakesOverServesItsOwnWatches": testTakeOver,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t))
		})
	}
}

// change returns a change to a proofread text.
func change(before, after string) json.RawMessage {
	return fmt.Appendf(nil, `{"id":1,"start":0,"end":1,"before":%q,"after":%q,"kind":"typo","reason":""}`, before, after)
}

// within returns a context with testTimeout.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// follow reads a whole message.
func follow(ctx context.Context, t *testing.T, c *Client, hub *stream.Hub, id string) {
	t.Helper()
	if err := c.Follow(ctx, hub, id, nil); err != nil {
		t.Fatal(err)
	}
}

// equal fails the test unless the client has the text and its end.
func equal(t *testing.T, c *Client, want string) {
	t.Helper()
	if sha256.Sum256([]byte(c.Text)) != sha256.Sum256([]byte(want)) || !c.Done {
		t.Fatalf("%d bytes of %d, done %v: %.60q", len(c.Text), len(want), c.Done, c.Text)
	}
}

func testEnds(t *testing.T, w World) {
	ctx := within(t)
	for _, end := range []stream.End{
		Finished,
		{Outcome: stream.Aborted, Reason: "stopped"},
		{Outcome: stream.Failed, ErrorText: "モデルに接続できませんでした。", Code: "model_unavailable", Retryable: true},
	} {
		h := head()
		text := w.Writer.Hub.Open(h)
		text.PutStep(stream.Step{Kind: "retrieval", Status: "running"})
		text.PutProofreadText(0, 0, "絹を\n紡ぐ🧵")
		text.PutChange(1, change("絹", "糸"))
		text.AppendText(strings.Repeat("絹糸", 300))
		text.PutProofread(json.RawMessage(`{"changes":1,"dropped":0}`))
		text.Finish(end)
		text.AppendText("もっと")
		text.PutTitle("見出し", time.Time{})
		interest := w.Reader.Hub.Join(h.MessageID)
		var c Client
		follow(ctx, t, &c, w.Reader.Hub, h.MessageID)
		equal(t, &c, strings.Repeat("絹糸", 300))
		if c.End != string(end.Outcome) || len(c.Titles) > 0 {
			t.Errorf("ends with %q, titles %q", c.End, c.Titles)
		}
		// The same bytes as for a client of the writer.
		if own, other := text.Watch("").Take(), interest.Text().Watch("").Take(); !bytes.Equal(own, other) {
			t.Errorf("the reader's server tells\n%s\nthe writer's\n%s", other, own)
		}
		interest.Leave()
		w.Writer.Hub.Close(text)
	}
}

func testResume(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	text := w.Writer.Hub.Open(h)
	half := strings.Index(sample, "です")
	text.AppendText(sample[:half])
	var clients sync.WaitGroup
	for k := range len(sample) + 1 {
		clients.Go(func() {
			c := &Client{Text: sample[:k], Cursor: stream.Cursor{Run: 1, Offset: k}.String()}
			// Only a client with a valid cursor resumes; others receive everything.
			if err := c.Follow(ctx, w.Reader.Hub, h.MessageID, nil); err != nil {
				t.Errorf("offset %d: %v", k, err)
				return
			}
			whole := k > 0 && (k == len(sample) || utf8.RuneStart(sample[k]))
			if c.Text != sample || (c.Resets > 0 && whole && k <= half && w.alone()) || (c.Resets == 0 && !whole) {
				t.Errorf("offset %d: %d resets, %q", k, c.Resets, c.Text)
			}
		})
	}
	for _, r := range sample[half:] {
		text.AppendText(string(r))
	}
	text.Finish(Finished)
	clients.Wait()
	w.Writer.Hub.Close(text)
}

func testRace(t *testing.T, w World) {
	ctx := within(t)
	tokens := []string{"糸", "を", "紡", "ぐ。", "a", "\n", "🧵", "絹の光"}
	for range w.Rounds {
		h := head()
		text := w.Writer.Hub.Open(h)
		var publisher sync.WaitGroup
		publisher.Go(func() {
			for _, token := range tokens {
				text.AppendText(token)
			}
			text.Finish(Finished)
		})
		var c Client
		follow(ctx, t, &c, w.Reader.Hub, h.MessageID)
		publisher.Wait()
		equal(t, &c, strings.Join(tokens, ""))
		w.Writer.Hub.Close(text)
	}
}

func testDrops(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	text := w.Writer.Hub.Open(h)
	var c Client
	for i := range 5 {
		text.AppendText(strings.Repeat("紡ぐ\n🧵", 1+i))
		want := len(text.Text())
		if err := c.Follow(ctx, w.Reader.Hub, h.MessageID,
			func(c *Client) bool { return len(c.Text) == want }); err != nil {
			t.Fatal(err)
		}
	}
	text.Finish(Finished)
	follow(ctx, t, &c, w.Reader.Hub, h.MessageID)
	equal(t, &c, text.Text())
	if c.Resets > 0 && !w.alone() {
		// The mirror ended with its last watcher and was begun again: the client's cursor is still valid.
		t.Errorf("%d resets", c.Resets)
	}
	w.Writer.Hub.Close(text)
}

func testCursors(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	text := w.Writer.Hub.Open(h)
	text.AppendText("こんにちは")
	text.Finish(Finished)
	for _, cursor := range []string{"1-1", "1-16", "7-3", "1-+3", "abc", "1-99999999999999999999"} {
		interest := w.Reader.Hub.Join(h.MessageID)
		var whole Client
		follow(ctx, t, &whole, w.Reader.Hub, h.MessageID) // From now on the text is mirrored while there is interest.
		c := Client{Text: "古い文字"}
		raw := interest.Text().Watch(cursor).Take()
		interest.Leave()
		if err := c.Read(raw); err != nil || c.Text != "こんにちは" || c.Resets != 1 {
			t.Errorf("cursor %q: %q, %d resets, %v", cursor, c.Text, c.Resets, err)
		}
	}
	w.Writer.Hub.Close(text)
}

func testParts(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	text := w.Writer.Hub.Open(h)
	text.PutStep(stream.Step{Kind: "retrieval", Status: "running"})
	var c Client
	step := func(want string) {
		t.Helper()
		err := c.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool {
			return len(c.Steps) > 0 && c.Steps[len(c.Steps)-1] == want
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	step("retrieval running")
	text.PutStep(stream.Step{Kind: "retrieval", Status: "success", Detail: "3件"})
	text.PutSource(stream.Source{
		SourceID: "s", MediaType: "application/pdf", Title: "規程.pdf", Filename: "規程.pdf",
		Index: 1, Page: 2,
	})
	step("retrieval success")
	text.AppendText("回答")
	text.PutTitle("見出し", time.Time{})
	text.Finish(Finished)
	follow(ctx, t, &c, w.Reader.Hub, h.MessageID)
	equal(t, &c, "回答")
	if len(c.Titles) != 1 || c.Titles[0] != "見出し" {
		t.Errorf("titles %q", c.Titles)
	}
	w.Writer.Hub.Close(text)
}

func testReasoning(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	text := w.Writer.Hub.Open(h)
	thought := strings.Repeat("考え🧵", 5000)
	text.AppendReasoning("まず、")
	var c, late Client
	err := c.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool { return c.Reasoning == "まず、" })
	if err != nil {
		t.Fatal(err)
	}
	text.AppendReasoning(thought)
	thought = "まず、" + thought
	// A client that reconnects during the reasoning, without a cursor, and one that joins late.
	for _, client := range []*Client{&c, &late} {
		err = client.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool { return c.Reasoning == thought })
		if err != nil {
			t.Fatal(err)
		}
	}
	text.AppendText("回答")
	text.AppendReasoning("もう遅い")
	err = c.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool { return c.Text == "回答" })
	if err != nil {
		t.Fatal(err)
	}
	text.AppendText("です")
	text.Finish(Finished)
	for _, client := range []*Client{&c, &late, {}} {
		follow(ctx, t, client, w.Reader.Hub, h.MessageID)
		equal(t, client, "回答です")
		if client.Reasoning != thought {
			t.Errorf("%d bytes of reasoning, want %d", len(client.Reasoning), len(thought))
		}
	}
	w.Writer.Hub.Close(text)
}

func testJoinFirst(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	var c Client
	joined := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		interest := w.Reader.Hub.Join(h.MessageID)
		defer interest.Leave()
		interest.Mirror()
		close(joined)
		if err := c.Follow(ctx, w.Reader.Hub, h.MessageID, nil); err != nil {
			t.Error(err)
		}
	})
	<-joined
	text := w.Writer.Hub.Open(h)
	text.AppendText("あとから")
	text.Finish(Finished)
	reading.Wait()
	equal(t, &c, "あとから")
	w.Writer.Hub.Close(text)
	if s := w.Reader.Hub.Stats(); s.Texts != 0 || s.Mirrors != 0 {
		t.Errorf("nobody is interested, and %+v", s)
	}
}

func testMany(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	text := w.Writer.Hub.Open(h)
	const watchers = 200
	started := make(chan struct{}, watchers)
	var reading sync.WaitGroup
	for range watchers {
		reading.Go(func() {
			var c Client
			seen := false
			err := c.Follow(ctx, w.Reader.Hub, h.MessageID, func(c *Client) bool {
				if !seen && c.Run > 0 {
					seen = true
					started <- struct{}{}
				}
				return false
			})
			if err != nil || c.Text != strings.Repeat(sample, 100) || c.Resets > 0 {
				t.Errorf("%d bytes, %d resets, %v", len(c.Text), c.Resets, err)
			}
		})
	}
	for range watchers {
		select {
		case <-started:
		case <-ctx.Done():
			t.Fatal("not all watch")
		}
	}
	if s := w.Reader.Hub.Stats(); !w.alone() && (s.Mirrors != 1 || s.Texts != 1) {
		t.Errorf("%d watchers have %+v", watchers, s)
	}
	for range 100 {
		text.AppendText(sample)
	}
	text.Finish(Finished)
	reading.Wait()
	w.Writer.Hub.Close(text)
}

func testLong(t *testing.T, w World) {
	ctx := within(t)
	h := head()
	text := w.Writer.Hub.Open(h)
	for range 3 {
		text.PutStep(stream.Step{Kind: "summarize", Status: "running", Detail: strings.Repeat("段", 5000)})
	}
	text.AppendText(strings.Repeat("長い文章🧵", 60_000))
	text.Finish(Finished)
	var c Client
	follow(ctx, t, &c, w.Reader.Hub, h.MessageID)
	equal(t, &c, text.Text())
	w.Writer.Hub.Close(text)
}
