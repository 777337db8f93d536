// Package bridge joins the servers of one installation over NATS: it is the stream.Transport of every server but a lone
// one.
//
// Texts travel in a JetStream stream that is kept in memory, with a subject for each message; a run appends to its
// subject only while nobody else has, so that a server that was taken for dead cannot write into what its successor
// writes. Live events travel over core NATS, which keeps nothing. Nothing here is the truth: what NATS loses is told
// again by the server that writes it, or is found in the database.
//
// The package knows of texts only that they are entries, in order. It imports NATS's client and stream.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// writeTimeout is how long NATS may take nothing.
const writeTimeout = 2 * time.Second

// Names within NATS.
const (
	StreamName   = "TSUMUGI_TEXTS"
	textSubjects = "tsumugi.text."
	feedSubjects = "tsumugi.feed."
)

// Config tunes a Bridge. The zero value of a field means its default.
type Config struct {
	URL      string        // Of one or more NATS servers, with a comma between, and credentials if they ask for some.
	Name     string        // What NATS calls this connection. Default "tsumugi".
	Logger   *slog.Logger  // Nil discards.
	Patience time.Duration // How long Connect waits for NATS. Default 5 s.

	MaxBytes  int64         // Of all texts that NATS keeps; the oldest go first. Default 256 MiB.
	MaxAge    time.Duration // NATS keeps nothing for longer. Default 1 h.
	Forget    time.Duration // A text that is over is kept for so long. Default 60 s.
	Heartbeat time.Duration // NATS says so often that a mirror has missed nothing. Default 2 s.
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&c.Patience, 5*time.Second)
	set(&c.MaxAge, time.Hour)
	set(&c.Forget, time.Minute)
	set(&c.Heartbeat, 2*time.Second)
	if c.MaxBytes <= 0 {
		c.MaxBytes = 256 << 20
	}
	if c.Name == "" {
		c.Name = "tsumugi"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Bridge is one server's connection to the others. It is safe for concurrent use.
type Bridge struct {
	cfg    Config
	log    *slog.Logger
	nc     *nats.Conn
	js     jetstream.JetStream
	closed chan struct{} // Closed when the connection is.

	root    context.Context // Of what goes on in the background.
	cancel  context.CancelFunc
	janitor sync.WaitGroup // The goroutine that forgets.
	ending  chan ended     // Texts that are over, for the janitor.
	making  sync.Mutex     // Held while the stream is looked for or made.

	mu     sync.Mutex
	nextID int // Guarded by mu.
	// Guarded by mu. Told of a reconnection (nil), or of a subscription that lost messages.
	resync map[int]func(*nats.Subscription)
}

var _ stream.Transport = (*Bridge)(nil)

// Connect connects to NATS and makes the stream of texts where there is none. A server must be able to start while NATS
// is away, as it can go on then: after cfg.Patience the bridge is returned as it is, and joins the others once NATS is
// there. Credentials that NATS refuses are an error, and so is the context's end.
func Connect(ctx context.Context, cfg Config) (*Bridge, error) {
	cfg = cfg.withDefaults()
	b := &Bridge{
		cfg: cfg, log: cfg.Logger, closed: make(chan struct{}), ending: make(chan ended, 4096),
		resync: make(map[int]func(*nats.Subscription)),
	}
	nc, err := nats.Connect(cfg.URL, b.options()...)
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	b.nc = nc
	b.root, b.cancel = context.WithCancel(context.Background())
	if b.js, err = jetstream.New(nc); err == nil {
		err = b.begin(ctx)
	}
	if err != nil {
		err = errors.Join(err, nc.LastError())
		if ctx.Err() != nil || errors.Is(err, nats.ErrAuthorization) {
			b.cancel()
			nc.Close()
			<-b.closed
			return nil, fmt.Errorf("bridge: %w", err)
		}
		b.log.Error("NATS cannot be used yet; until it can, answers are watched only where they are written", "err",
			err)
	}
	b.janitor.Go(b.forget)
	return b, nil
}

func (b *Bridge) options() []nats.Option {
	return []nats.Option{
		nats.Name(b.cfg.Name),
		nats.NoEcho(),
		nats.Timeout(3 * time.Second),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(300*time.Millisecond, 500*time.Millisecond),
		// The client writes under a lock that everybody needs who publishes: a link that takes nothing is given up
		// soon.
		nats.FlusherTimeout(writeTimeout),
		nats.ReconnectOnFlusherError(),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn("connection to NATS lost", "err", err)
			}
		}),
		nats.ConnectHandler(func(*nats.Conn) { b.resyncAll(nil) }), // After a start without NATS.
		nats.ReconnectHandler(func(nc *nats.Conn) {
			b.log.Info("connected to NATS again", "server", nc.ConnectedServerName())
			b.resyncAll(nil)
			b.tellMissed()
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			b.log.Warn("NATS reports an error", "err", err)
			if sub != nil && errors.Is(err, nats.ErrSlowConsumer) {
				b.resyncAll(sub)
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
}

// Close sends what is pending and closes the connection, within 2 s. Hubs and feeds are stopped before.
func (b *Bridge) Close() {
	b.cancel()
	b.janitor.Wait()
	if err := b.nc.FlushTimeout(time.Second); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		b.log.Warn("events for other servers may be lost", "err", err)
	}
	b.nc.Close()
	<-b.closed
}

// Connected reports whether NATS is connected, as far as this side knows.
func (b *Bridge) Connected() bool { return b.nc.IsConnected() }

var errDisconnected = errors.New("bridge: not connected to NATS")

// onResync has f called when messages may have been missed, until stop is called.
func (b *Bridge) onResync(f func(*nats.Subscription)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.nextID
	b.nextID++
	b.resync[id] = f
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.resync, id)
	}
}

// resyncAll tells of messages that a subscription, nil for all, may have missed.
func (b *Bridge) resyncAll(sub *nats.Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.resync {
		f(sub)
	}
}
