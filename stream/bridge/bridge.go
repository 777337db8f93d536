// Package bridge connects the servers of one installation over NATS. It implements stream.Transport.
//
// Texts are stored in a JetStream stream in memory, with one subject per message. A run appends to its subject only if
// the last entry is the expected one. Therefore a server that was considered failed cannot write into its successor's
// text. Live events use core NATS, which stores nothing. NATS is never the source of truth: data lost by NATS is sent
// again by the server that writes the text, or is read from the database.
//
// The package treats a text as a sequence of opaque entries. It imports NATS's client and stream.
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

// writeTimeout bounds a write to the NATS connection.
const writeTimeout = 2 * time.Second

// Names within NATS.
const (
	StreamName   = "TSUMUGI_TEXTS"
	textSubjects = "tsumugi.text."
	feedSubjects = "tsumugi.feed."
)

// Config tunes a Bridge. The zero value of a field selects its default.
type Config struct {
	URL            string        // One or more NATS servers, separated by commas, with credentials if required.
	Name           string        // The name of this connection in NATS. Default "tsumugi".
	Logger         *slog.Logger  // Nil discards.
	ConnectTimeout time.Duration // Maximum wait of Connect for NATS. Default 5 s.

	MaxBytes  int64         // The total size of all texts; NATS discards the oldest first. Default 256 MiB.
	MaxAge    time.Duration // The maximum age of an entry. Default 1 h.
	Forget    time.Duration // Retention of a completed text. Default 60 s.
	Heartbeat time.Duration // The interval of NATS's idle heartbeats to a mirror. Default 2 s.
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&c.ConnectTimeout, 5*time.Second)
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
	closed chan struct{} // Closed with the connection.

	root    context.Context // The parent of the background contexts.
	cancel  context.CancelFunc
	janitor sync.WaitGroup // Waits for forget.
	ending  chan ended     // Completed texts, for forget.
	making  sync.Mutex     // Held while the stream is looked up or created.

	mu     sync.Mutex
	nextID int // Guarded by mu.
	// Guarded by mu. Called with nil after a reconnection, or with a subscription that has lost messages.
	resync map[int]func(*nats.Subscription)
}

var _ stream.Transport = (*Bridge)(nil)

// Connect connects to NATS and creates the stream of texts if it does not exist. A server can start and run without
// NATS. After cfg.ConnectTimeout, Connect returns the unconnected bridge, which connects when NATS is available.
// Rejected credentials and the end of the context are errors.
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
		b.log.Error("bridge: NATS unavailable, answers can be watched only on the server that writes them", "err",
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
		// The client writes while holding a lock that every publisher needs, so a stalled connection must be dropped
		// soon.
		nats.FlusherTimeout(writeTimeout),
		nats.ReconnectOnFlusherError(),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				b.log.Warn("bridge: connection to NATS lost", "err", err)
			}
		}),
		nats.ConnectHandler(func(*nats.Conn) { b.resyncAll(nil) }), // The server started without NATS.
		nats.ReconnectHandler(func(nc *nats.Conn) {
			b.log.Info("bridge: reconnected to NATS", "server", nc.ConnectedServerName())
			b.resyncAll(nil)
			b.publishMissed()
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			b.log.Warn("bridge: NATS error", "err", err)
			if sub != nil && errors.Is(err, nats.ErrSlowConsumer) {
				b.resyncAll(sub)
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
}

// Close flushes pending messages and closes the connection, within 2 s. Stop hubs and feeds first.
func (b *Bridge) Close() {
	b.cancel()
	b.janitor.Wait()
	if err := b.nc.FlushTimeout(time.Second); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		b.log.Warn("bridge: events for other servers may be lost", "err", err)
	}
	b.nc.Close()
	<-b.closed
}

// Connected reports whether the connection to NATS is established, as far as this side can detect.
func (b *Bridge) Connected() bool { return b.nc.IsConnected() }

var errDisconnected = errors.New("bridge: not connected to NATS")

// onResync registers f to be called when messages may have been missed, until stop is called.
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

// resyncAll reports that a subscription may have missed messages, or with nil that all may have.
func (b *Bridge) resyncAll(sub *nats.Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.resync {
		f(sub)
	}
}
