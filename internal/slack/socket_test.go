package slack_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	fake "github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// intake stores events in memory, each once, like channel.Service.
type intake struct {
	mu    sync.Mutex // Guards the following.
	fails int        // Number of further events that are not stored.
	took  []channel.IncomingEvent
	again int // Number of repeated events.
}

func (i *intake) Enqueue(_ context.Context, in channel.IncomingEvent) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fails > 0 {
		i.fails--
		return errors.New("the database is away")
	}
	for _, known := range i.took {
		if known.EventID == in.EventID {
			i.again++
			return nil
		}
	}
	i.took = append(i.took, in)
	return nil
}

// RunInSlot calls run on every server.
func (i *intake) RunInSlot(ctx context.Context, _ string, _ int, run func(context.Context)) { run(ctx) }

func (i *intake) stored() []channel.IncomingEvent {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]channel.IncomingEvent(nil), i.took...)
}

// installations lists the only installation.
func (o *office) installations(context.Context) ([]channel.Installation, error) {
	return []channel.Installation{o.in}, nil
}

// behindFirewall opens an office in Socket Mode, with sockets of the given number of servers.
func behindFirewall(t *testing.T, servers int, i *intake) *office {
	t.Helper()
	o := open(t, func(c *fake.Config) {
		c.App.SocketMode = true
		c.Retries = []time.Duration{0, 0, 0}
		c.Timeout = 300 * time.Millisecond
	})
	for range servers {
		s := slack.NewSockets(o.adapter, i, o.installations, slog.New(slog.DiscardHandler))
		s.Start()
		t.Cleanup(s.Stop)
	}
	o.await("sockets", func() bool { return o.Sockets() == servers })
	return o
}

func (o *office) await(what string, is func() bool) {
	o.t.Helper()
	if err := o.Await(within(o.t), is); err != nil {
		o.t.Fatalf("%s: %v", what, err)
	}
}

// asked returns the number of stored questions with a text, and whether all events of Slack are processed.
func (o *office) asked(i *intake, text string) int {
	n := 0
	for _, in := range i.stored() {
		if in.Kind == channel.KindQuestion && in.Text == text {
			n++
		}
	}
	for _, e := range o.Events("") {
		if !e.Done {
			return 0
		}
	}
	return n
}

func TestSockets(t *testing.T) {
	t.Parallel()
	i := &intake{}
	o := behindFirewall(t, 2, i)
	ctx := within(t)
	o.mentioned(fake.DemoHanako, "要約して")
	must.Succeed(t, o.Command(ctx, fake.DemoTaro, fake.DemoGeneral, "翻訳: hello"))
	ref := must.Get(o.adapter.Begin(ctx, o.to, done("回答")))(t)
	must.Succeed(t, o.Click(ctx, fake.DemoHanako, o.to.Channel, string(ref), "tsumugi_good"))
	o.await("the question", func() bool { return o.asked(i, "要約して") == 1 })
	kinds := map[channel.Kind]channel.IncomingEvent{}
	for _, in := range i.stored() {
		kinds[in.Kind] = in
	}
	if kinds[channel.KindQuestion].Text == "" || kinds[channel.KindRate].Rating == "" || kinds[channel.KindQuestion].TeamID != fake.DemoTeam {
		t.Errorf("%+v", kinds)
	}
}

func TestSockets_AcknowledgeWhatIsStored(t *testing.T) {
	t.Parallel()
	i := &intake{fails: 1}
	o := behindFirewall(t, 1, i)
	o.mentioned(fake.DemoHanako, "要約して")
	o.await("the event comes again", func() bool { return o.asked(i, "要約して") == 1 })
	var deliveries []fake.Delivery
	for _, e := range o.Events("app_mention") {
		deliveries = e.Deliveries
	}
	if len(deliveries) != 2 || deliveries[0].Status == 200 || deliveries[1].Status != 200 {
		t.Errorf("acknowledged before it was stored: %+v", deliveries)
	}
}

func TestSockets_Refresh(t *testing.T) {
	t.Parallel()
	i := &intake{}
	o := behindFirewall(t, 1, i)
	must.Succeed(t, o.Refresh(within(t), "warning"))
	o.await("the next socket, before the old one ends", func() bool { return o.Sockets() == 2 })
	o.Cut()
	o.await("a socket after the cut", func() bool {
		return o.Calls("apps.connections.open") == 3 && o.Sockets() == 1
	})
	o.mentioned(fake.DemoHanako, "要約して")
	o.await("the question", func() bool { return o.asked(i, "要約して") == 1 })
}

func TestSockets_Stop(t *testing.T) {
	t.Parallel()
	o := open(t, func(c *fake.Config) { c.App.SocketMode = true })
	s := slack.NewSockets(o.adapter, &intake{}, o.installations, slog.New(slog.DiscardHandler))
	s.Start()
	o.await("a socket", func() bool { return o.Sockets() == 1 })
	s.Stop()
	o.await("none", func() bool { return o.Sockets() == 0 })
}
