package stream_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// gappy is a transport that drops one entry of the first log followed through it.
type gappy struct {
	*streamtest.Node
	lose  int // Starts at 1.
	count atomic.Int64
}

func (g *gappy) Follow(ctx context.Context, messageID string, deliver func([]byte, bool)) error {
	return g.Node.Follow(ctx, messageID, func(entry []byte, more bool) {
		if g.count.Add(1) != int64(g.lose) {
			deliver(entry, more)
		}
	})
}

func TestR30_HoleIsDetectedAndFilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := streamtest.NewNetwork()
		writer := streamtest.NewServer(t, network.Node()).Hub
		reader := streamtest.NewServer(t, &gappy{Node: network.Node(), lose: 3}).Hub
		text := writer.Open(firstRun)
		for range 5 {
			text.AppendText("糸を")
			time.Sleep(time.Second)
		}
		text.Finish(done)
		c := readAll(t, reader)
		if c.Text != strings.Repeat("糸を", 5) || c.Resets > 0 || reader.Stats().Gaps != 1 {
			t.Errorf("%q, %d resets, %+v", c.Text, c.Resets, reader.Stats())
		}
	})
}

// TestMirrorWithoutAStartHasNoText: the client waits, and its handler reads the database instead.
func TestMirrorWithoutAStartHasNoText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network, _, hubs := joined(t, 2)
		text := hubs[0].Open(firstRun)
		for _, piece := range []string{"はじめ", "なか"} {
			text.AppendText(piece)
			time.Sleep(time.Second)
		}
		network.Forget(firstRun.MessageID, 1)
		text.AppendText("おわり")
		interest := hubs[1].Join(firstRun.MessageID)
		defer interest.Leave()
		interest.Mirror()
		time.Sleep(time.Minute)
		select {
		case <-interest.Opened():
			t.Error("a text without its start was opened")
		default:
		}
		if s := hubs[1].Stats(); s.Mirrors != 1 || len(hubs[1].Mirrors()) != 0 {
			t.Errorf("%+v", s)
		}
		second := hubs[0].Open(stream.Head{MessageID: firstRun.MessageID, Run: 2})
		second.AppendText("もう一度")
		<-interest.Opened()
		second.Finish(done)
		if c := readAll(t, hubs[1]); c.Text != "もう一度" {
			t.Errorf("%q", c.Text)
		}
	})
}

func TestDropEndsAMirrorWhoseEndWasLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes, hubs := joined(t, 2)
		text := hubs[0].Open(firstRun)
		text.AppendText("途中")
		interest := hubs[1].Join(firstRun.MessageID)
		defer interest.Leave()
		interest.Mirror()
		<-interest.Opened()
		synctest.Wait()
		mirrors := hubs[1].Mirrors()
		if len(mirrors) != 1 || mirrors[0].MessageID != firstRun.MessageID || mirrors[0].Run != 1 {
			t.Fatalf("mirrors %v", mirrors)
		}
		w := interest.Text().Watch("")
		nodes[1].Cut()
		text.Finish(done)
		hubs[1].Drop(firstRun.MessageID, 0)
		if _, over := w.Wait(); over {
			t.Fatal("a run was dropped that is not over")
		}
		hubs[1].Drop(firstRun.MessageID, 1)
		drain(w)
		if _, over := w.Wait(); !over || interest.Text() != nil || len(hubs[1].Mirrors()) != 0 {
			t.Error("the mirror is still there")
		}
		nodes[1].Heal()
		synctest.Wait()
		if interest.Text() != nil {
			t.Error("a run that is over came back")
		}
	})
}

func TestMirrorEndsWithItsLastInterest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, nodes, hubs := joined(t, 2)
		text := hubs[0].Open(firstRun)
		text.AppendText("糸")
		first, second := hubs[1].Join(firstRun.MessageID), hubs[1].Join(firstRun.MessageID)
		first.Mirror()
		second.Mirror()
		<-first.Opened()
		synctest.Wait()
		w := first.Text().Watch("")
		first.Leave()
		first.Leave()
		synctest.Wait()
		if n := nodes[1].Followers(); n != 1 {
			t.Errorf("%d followers", n)
		}
		second.Leave()
		synctest.Wait()
		drain(w)
		if _, over := w.Wait(); nodes[1].Followers() != 0 || hubs[1].Stats().Texts != 0 || !over {
			t.Errorf("%d followers, %d texts, over %v", nodes[1].Followers(), hubs[1].Stats().Texts, over)
		}
		first.Mirror() // No effect after Leave.
		if s := hubs[1].Stats(); s.Mirrors != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestMirrorSurvivesMalformedEntries: the server continues for any content of the log.
func TestMirrorSurvivesMalformedEntries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := streamtest.NewNetwork()
		node := network.Node()
		reader := streamtest.NewServer(t, network.Node()).Hub
		foreign := stream.NewText(stream.Head{MessageID: "another", Run: 1})
		update, _ := foreign.Since(stream.Position{})
		w := node.Writer(firstRun.MessageID, 1)
		for _, entry := range [][]byte{nil, {}, {2, 0xff}, update.Append(nil)} {
			must.Succeed(t, w.Append(t.Context(), entry))
		}
		interest := reader.Join(firstRun.MessageID)
		defer interest.Leave()
		interest.Mirror()
		time.Sleep(10 * time.Second)
		if interest.Text() != nil || reader.Stats().Gaps == 0 {
			t.Errorf("%+v", reader.Stats())
		}
	})
}

// TestMirrorIgnoresUpdatesOfAnotherVersion: during an upgrade, the text of a run by a server of another release is not
// shown in part, and its log is not read again and again. The next run is shown.
func TestMirrorIgnoresUpdatesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := streamtest.NewNetwork()
		node := network.Node()
		reader := streamtest.NewServer(t, network.Node()).Hub
		text := stream.NewText(firstRun)
		text.AppendText("新しい版")
		update, _ := text.Since(stream.Position{})
		entry := update.Append(nil)
		entry[0]++
		must.Succeed(t, node.Writer(firstRun.MessageID, 1).Append(t.Context(), entry))
		interest := reader.Join(firstRun.MessageID)
		defer interest.Leave()
		interest.Mirror()
		time.Sleep(10 * time.Second)
		if s := reader.Stats(); interest.Text() != nil || s.Gaps != 0 || s.EntriesReceived != 1 {
			t.Errorf("%+v", s)
		}
		second := streamtest.NewServer(t, node).Hub.Open(stream.Head{MessageID: firstRun.MessageID, Run: 2})
		second.AppendText("もう一度")
		<-interest.Opened()
		second.Finish(done)
		if c := readAll(t, reader); c.Text != "もう一度" {
			t.Errorf("%q", c.Text)
		}
	})
}

// TestMirrorIgnoresEarlierRuns: entries of earlier runs are ignored even if the transport delivers them.
func TestMirrorIgnoresEarlierRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := streamtest.NewNetwork()
		w := network.Node().Writer(firstRun.MessageID, 9)
		reader := streamtest.NewServer(t, network.Node()).Hub
		for _, run := range []int{2, 1} {
			text := stream.NewText(stream.Head{MessageID: firstRun.MessageID, Run: run})
			text.AppendText(strings.Repeat("糸", run))
			update, _ := text.Since(stream.Position{})
			must.Succeed(t, w.Append(t.Context(), update.Append(nil)))
		}
		interest := reader.Join(firstRun.MessageID)
		defer interest.Leave()
		interest.Mirror()
		<-interest.Opened()
		synctest.Wait()
		if text := interest.Text(); text == nil || text.Run() != 2 || text.Text() != "糸糸" || reader.Stats().Gaps != 0 {
			t.Errorf("%+v", reader.Stats())
		}
	})
}
