package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

const (
	socketSlots      = 2                // Servers with a socket of the same installation, so that one may die.
	socketList       = 5 * time.Second  // Interval of listing the installations with sockets.
	socketPing       = 20 * time.Second // Interval of this server's pings; Slack also sends pings.
	socketSilence    = 10 * time.Second // Time limit for the response to a ping.
	socketRetry      = time.Second      // First wait before a reconnection; later ones double.
	socketMaxRetry   = time.Minute      // Maximum wait before a reconnection.
	socketFrame      = 4 << 20          // Maximum bytes of an envelope.
	socketMaxPending = 32               // Maximum envelopes that one socket stores at the same time.
	socketStore      = 5 * time.Second  // Time limit for storing an event. Slack repeats unacknowledged events.
)

// Intake stores events. *channel.Service is an Intake.
type Intake interface {
	Enqueue(ctx context.Context, in channel.IncomingEvent) error
	RunInSlot(ctx context.Context, name string, slots int, run func(ctx context.Context))
}

// Sockets receives events in Socket Mode, for servers that Slack cannot reach. It passes the events to the same intake
// as requests. Two servers hold a socket for each installation.
type Sockets struct {
	adapter *Adapter
	intake  Intake
	list    func(context.Context) ([]channel.Installation, error)
	log     *slog.Logger
	group   *work.Group
	open    map[socketKey]context.CancelFunc // Used by openSockets only.
}

// NewSockets returns Sockets without open connections. Start opens them. list returns the installations that use Socket
// Mode.
func NewSockets(adapter *Adapter, intake Intake, list func(context.Context) ([]channel.Installation, error),
	log *slog.Logger,
) *Sockets {
	return &Sockets{
		adapter: adapter, intake: intake, list: list, log: log, group: work.NewGroup(log),
		open: make(map[socketKey]context.CancelFunc),
	}
}

// Start opens the sockets of all installations, including installations that are added later. The caller must call
// Stop.
func (s *Sockets) Start() {
	s.group.Every(socketList, nil, s.openSockets, "the installations with sockets cannot be listed; retrying")
}

// Stop closes all sockets and waits until their events are stored.
func (s *Sockets) Stop() { s.group.Stop() }

// socketKey identifies the socket of an installation. It changes with the app token.
type socketKey struct {
	id    uuid.UUID
	token string
}

// openSockets opens a socket for each installation without one, and closes those of former installations.
func (s *Sockets) openSockets(ctx context.Context) error {
	installations, err := s.list(ctx)
	if err != nil {
		return err
	}
	wanted := make(map[socketKey]bool)
	for _, i := range installations {
		key := socketKey{i.ID, i.Credentials.AppToken}
		wanted[key] = true
		if s.open[key] != nil {
			continue
		}
		var one context.Context
		one, s.open[key] = context.WithCancel(ctx)
		s.group.Go(func(context.Context) {
			s.intake.RunInSlot(one, "slack-socket:"+i.ID.String(), socketSlots, func(ctx context.Context) {
				s.keep(ctx, i)
			})
		})
	}
	for key, cancel := range s.open {
		if !wanted[key] {
			cancel()
			delete(s.open, key)
		}
	}
	return nil
}

// keep keeps a socket open until ctx ends. When Slack announces the end of a socket, it opens the next one first.
func (s *Sockets) keep(ctx context.Context, i channel.Installation) {
	var old sync.WaitGroup
	defer old.Wait()
	pause := socketRetry
	for ctx.Err() == nil {
		conn, err := s.adapter.dial(ctx, i)
		if err != nil {
			if ctx.Err() == nil {
				s.log.WarnContext(ctx, "a Slack socket cannot be opened; retrying", "installation", i.ID, "err", err)
			}
			if limited, ok := errors.AsType[*channel.RateLimitError](err); ok {
				pause = max(pause, limited.RetryAfter)
			}
			work.Sleep(ctx, pause/2+rand.N(pause/2)) //nolint:gosec // The random number spreads attempts.
			pause = min(2*pause, socketMaxRetry)
			continue
		}
		began := time.Now()
		leaving := make(chan struct{})
		old.Go(func() { s.serve(ctx, i, conn, leaving) })
		select {
		case <-leaving:
		case <-ctx.Done():
		}
		if time.Since(began) > socketMaxRetry {
			pause = socketRetry
			continue
		}
		work.Sleep(ctx, pause)
		pause = min(2*pause, socketMaxRetry)
	}
}

// dial opens a socket.
func (a *Adapter) dial(ctx context.Context, i channel.Installation) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	_, address, err := a.client(i).StartSocketModeContext(ctx)
	if err != nil {
		return nil, result("apps.connections.open", err)
	}
	//nolint:bodyclose // The connection is taken over, and of a failed one the library closes it.
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: a.downloads})
	if err != nil {
		return nil, fmt.Errorf("slack: a socket: %w", unaddressed(err))
	}
	conn.SetReadLimit(socketFrame)
	return conn, nil
}

// socketEnvelope is a message of a socket.
type socketEnvelope struct {
	Type       string          `json:"type"`
	EnvelopeID string          `json:"envelope_id"`
	Reason     string          `json:"reason"`
	Payload    json.RawMessage `json:"payload"`
}

// serve reads a socket until it closes. It closes leaving when Slack announces the end of the socket, at the latest
// when the socket closes.
func (s *Sockets) serve(ctx context.Context, i channel.Installation, conn *websocket.Conn, leaving chan struct{}) {
	leave := sync.OnceFunc(func() { close(leaving) })
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer conn.CloseNow() //nolint:errcheck // It may be closed already.
	defer cancel()
	work.Go(func() {
		defer cancel()
		ping(ctx, conn)
	})
	places := make(chan struct{}, socketMaxPending)
	for {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var e socketEnvelope
		if json.Unmarshal(frame, &e) != nil {
			continue
		}
		if e.Type == "disconnect" {
			leave()
			if e.Reason != "warning" {
				return
			}
			continue
		}
		if e.EnvelopeID == "" {
			continue
		}
		places <- struct{}{}
		work.Go(func() {
			defer func() { <-places }()
			s.enqueue(ctx, i, conn, e)
		})
	}
}

// enqueue stores the event of an envelope and then acknowledges it. Slack repeats unacknowledged envelopes.
func (s *Sockets) enqueue(ctx context.Context, i channel.Installation, conn *websocket.Conn, e socketEnvelope) {
	// The event is stored even if the socket closes meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), socketStore)
	defer cancel()
	in, err := parsePayload(e)
	if err == nil && in.Kind != channel.KindIgnored && (i.AppID == "" || in.AppID == "" || in.AppID == i.AppID) {
		if err := s.intake.Enqueue(ctx, in); err != nil {
			s.log.WarnContext(ctx, "a Slack event was not stored; Slack repeats it", "installation", i.ID, "err", err)
			return
		}
	}
	ack, err := json.Marshal(map[string]string{"envelope_id": e.EnvelopeID})
	if err != nil {
		return
	}
	// If the acknowledgement is lost, Slack repeats the event, which the intake recognizes.
	_ = conn.Write(ctx, websocket.MessageText, ack)
}

// parsePayload parses the payload of an envelope, which equals that of the corresponding HTTP request.
func parsePayload(e socketEnvelope) (channel.IncomingEvent, error) {
	switch e.Type {
	case "events_api":
		event, err := ParseEvent(e.Payload)
		return event.Incoming, err
	case "interactive":
		return parseInteraction(e.Payload)
	case "slash_commands":
		var fields map[string]any
		if err := json.Unmarshal(e.Payload, &fields); err != nil {
			return channel.IncomingEvent{}, err
		}
		return parseForm(func(name string) string {
			value, _ := fields[name].(string)
			return value
		}), nil
	}
	return channel.IncomingEvent{Kind: channel.KindIgnored}, nil
}

// ping sends pings. It returns when Slack does not respond or ctx ends.
func ping(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(socketPing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		once, cancel := context.WithTimeout(ctx, socketSilence)
		err := conn.Ping(once)
		cancel()
		if err != nil {
			return
		}
	}
}
