package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/bridge"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

const (
	natsServer = "NATS"
	bridged    = "tsumugi, joined by NATS"

	sameServer  = "through the server that writes"
	otherServer = "through another server"
	added       = "added"
)

// Rows of the section, by the number of streams and the tokens a second of each.
const (
	rowCross     = "%d × %d/s: p%d ms from due to read"
	rowCrossLost = "%d × %d/s: tokens lost or twice"
	rowCrossCPU  = "%d × %d/s: CPU µs a token, %s"
)

// measureNATS watches streams through the server that generates them, and through another server.
func measureNATS(ctx context.Context, b *bench) error {
	t := newTable("Two servers, joined by NATS",
		"Streams with one watcher each, as above; the fast path. CPU is told for each process: what writes costs the "+
			"server that writes, what is watched the one that is watched, and NATS carries it.",
		"", sameServer, otherServer, added)
	b.report.Sections = append(b.report.Sections, t)
	seconds := 2
	if b.quick {
		seconds = 1
	}
	for round := range b.rounds {
		for _, p := range []pace{{streams: 200, perSecond: 50}, {streams: 1000, perSecond: 10}} {
			b.say("Two servers, %d × %d/s, round %d of %d", p.streams, p.perSecond, round+1, b.rounds)
			for _, way := range []string{sameServer, otherServer} {
				if err := cross(ctx, b, t, way, p, seconds); err != nil {
					return fmt.Errorf("%s: %w", way, err)
				}
			}
		}
	}
	for _, r := range t.Rows { // Adds the difference of the medians.
		if same, other := t.median(r.Name, sameServer), t.median(r.Name, otherServer); other == other && same == same {
			r.Values[added] = []float64{other - same}
		}
	}
	return nil
}

// cross measures one path, in one round.
func cross(ctx context.Context, b *bench, t *table, way string, p pace, seconds int) error {
	nats, err := startSystem(ctx, b, spec{Name: natsServer}, 0)
	if err != nil {
		return err
	}
	defer nats.stop()
	writer, err := startSystem(ctx, b, spec{Name: bridged, NATS: nats.address}, p.streams)
	if err != nil {
		return err
	}
	defer writer.stop()
	watched := writer
	if way == otherServer {
		if watched, err = startSystem(ctx, b, spec{Name: bridged, NATS: nats.address}, 0); err != nil {
			return err
		}
		defer watched.stop()
	}
	before, err := cpuOf(nats, watched)
	if err != nil {
		return err
	}
	lags, wrong, used, err := writer.pace(ctx, watched, p, seconds)
	if err != nil {
		return err
	}
	after, err := cpuOf(nats, watched)
	if err != nil {
		return err
	}
	all := slices.Concat(lags...)
	for _, q := range []int{50, 99} {
		t.add(fmt.Sprintf(rowCross, p.streams, p.perSecond, q), way, 2, quantile(all, float64(q)/100))
	}
	t.add(fmt.Sprintf(rowCrossLost, p.streams, p.perSecond), way, 0, float64(wrong))
	cpu := func(of string, used time.Duration) {
		t.add(fmt.Sprintf(rowCrossCPU, p.streams, p.perSecond, of), way, 1,
			float64(used.Microseconds())/float64(len(all)))
	}
	cpu("the server that writes", used)
	if way == otherServer {
		cpu("the server that is watched", after[1]-before[1])
	}
	cpu("NATS", after[0]-before[0])
	return nil
}

func cpuOf(systems ...*system) ([]time.Duration, error) {
	used := make([]time.Duration, len(systems))
	var failed error
	for i, s := range systems {
		var err error
		used[i], err = s.cpu()
		failed = errors.Join(failed, err)
	}
	return used, failed
}

// runNATS runs a NATS server with streams in memory until in reaches EOF.
func runNATS(in io.Reader, out io.Writer) error {
	dir, err := os.MkdirTemp("", "tsumugi-bench-nats-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true,
	})
	if err != nil {
		return err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("NATS is not ready")
	}
	p := &peer{hub: asker{}}
	return p.obey(s.ClientURL(), in, out)
}

// bridgedHub is ourHub on one of several servers.
type bridgedHub struct{ *ourHub }

func newBridgedHub(ctx context.Context, url string) (bridgedHub, error) {
	transport, err := bridge.Connect(ctx, bridge.Config{URL: url}) // Never closed; the process ends with it.
	if err != nil {
		return bridgedHub{}, err
	}
	return bridgedHub{&ourHub{
		hub: stream.NewHub(stream.HubConfig{Transport: transport}), server: sse.NewServer(sse.Config{Fast: true}),
	}}, nil
}

// ServeHTTP serves a stream. If another server generates the text, it waits for it.
func (h bridgedHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	interest := h.hub.Join(r.URL.Query().Get("stream"))
	if interest.Text() == nil {
		interest.Mirror()
		select {
		case <-interest.Opened():
		case <-r.Context().Done():
			interest.Leave()
			return
		}
	}
	h.server.Serve(w, r, sse.Delivery{
		Watch: interest.Text().Watch(r.Header.Get("Last-Event-ID")), Until: time.Now().Add(time.Hour),
		Done: func(error) { interest.Leave() },
	})
}
