package chat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/streamtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// linked starts a server in a cluster.
func (f *fixture) linked(node *streamtest.Node, n chat.Deps, cfg chat.Config) *server {
	f.t.Helper()
	n.Hub = stream.NewHub(stream.HubConfig{Transport: node})
	s := f.startWith(n, cfg)
	f.t.Cleanup(func() {
		s.kill() // Its generations end before the hub does.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		n.Hub.Stop(ctx)
	})
	return s
}

// attachMirror attaches at a server to an answer of another one.
func (f *fixture) attachMirror(s *server, answer uuid.UUID) (*stream.Watch, func()) {
	f.t.Helper()
	for {
		attachment := must.Get(s.Attach(f.t.Context(), f.owner, answer))(f.t)
		if attachment.Text != nil {
			return attachment.Text.Watch(""), attachment.Leave
		}
		await(f.t, "the other server's text", attachment.Opened)
		again, err := s.Attach(f.t.Context(), f.owner, answer)
		attachment.Leave() // Called last, because a mirror exists only while it has subscribers.
		must.Succeed(f.t, err)
		if again.Text != nil {
			return again.Text.Watch(""), again.Leave
		}
		again.Leave()
	}
}

// TestR30_MirrorsOfEndedAnswersAreDropped cuts the connection between two servers while a client follows an
// answer on the server that does not generate it. When the answer ends or is deleted, the client must reconnect, and
// finds the result.
func TestR30_MirrorsOfEndedAnswersAreDropped(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"ended": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			network := streamtest.NewNetwork()
			model, node := llmtest.NewLive(), network.Node()
			writer := f.linked(network.Node(), chat.Deps{Model: model}, chat.Config{})
			reader := f.linked(node, chat.Deps{}, chat.Config{
				Sweep:       10 * time.Millisecond,
				MirrorGrace: time.Millisecond,
			})
			exchange := f.sendTo(writer, f.question("はい"))
			call := model.Next(t)
			call.Emit("半分")
			w, leave := f.attachMirror(reader, exchange.Answer.ID)
			defer leave()
			told := f.drainUntil(w, "半分")
			node.Cut()
			if deleted {
				must.Succeed(t, f.server.DeleteThread(t.Context(), f.owner, f.thread.ID))
			} else {
				call.Emit("、全部")
				call.Finish()
			}
			if raw := told + f.drain(w); deltas(t, raw) != "半分" || strings.Contains(raw, "[DONE]") {
				t.Errorf("the mirror told %s", raw)
			}
			leave()
			if deleted {
				if _, err := reader.Attach(t.Context(), f.owner,
					exchange.Answer.ID); fault.CodeOf(err) != fault.NotFound {
					t.Errorf("got %v", err)
				}
			} else if raw := f.follow(reader, exchange.Answer.ID, "1-6"); deltas(t, raw) != "、全部" {
				t.Errorf("coming back: %s", raw)
			}
		})
	}
}

// TestR20_MirrorOfAnEarlierRunIsNotShown: a client connects after an answer was taken over, and before this server is
// notified of the new run.
func TestR20_MirrorOfAnEarlierRunIsNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	network := streamtest.NewNetwork()
	model := llmtest.NewLive()
	writer := f.linked(network.Node(), chat.Deps{Model: model}, mute())
	reader := f.linked(network.Node(), chat.Deps{}, chat.Config{Sweep: time.Hour})
	exchange := f.sendTo(writer, f.question("はい"))
	model.Next(t).Emit("半分")
	w, leave := f.attachMirror(reader, exchange.Answer.ID)
	defer leave()
	told := f.drainUntil(w, "半分")
	if jobs, err := f.db.TakeOver(t.Context(), uuid.New(), nil, 0, 1, 0); len(jobs) != 1 || err != nil {
		t.Fatal(jobs, err)
	}
	held, err := reader.Attach(t.Context(), f.owner, exchange.Answer.ID)
	if err != nil || held.Text != nil {
		t.Fatal("the earlier run is shown", err)
	}
	defer held.Leave()
	if raw := told + f.drain(w); strings.Contains(raw, "[DONE]") {
		t.Errorf("the mirror told %s", raw)
	}
	taker := streamtest.NewServer(t, network.Node()).Hub
	taker.Open(stream.Head{MessageID: exchange.Answer.ID.String(), Run: 2}).Finish(stream.End{Outcome: stream.Aborted})
	await(t, "the later run", held.Opened)
	again, err := reader.Attach(t.Context(), f.owner, exchange.Answer.ID)
	if err != nil || again.Text == nil || again.Text.Run() != 2 {
		t.Fatal("the later run is not shown", err)
	}
	again.Leave()
}
