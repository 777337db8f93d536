package api

import (
	"bufio"
	"context"
	"encoding/base64"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// LiveConfig configures Live. Zero fields take their defaults.
type LiveConfig struct {
	PublicURL string // The server's URL. Its host is an allowed origin, like the host of the request.

	// Projects returns the ids of a person's projects. It may be nil.
	Projects func(ctx context.Context, person identity.Owner) ([]uuid.UUID, error)

	Sockets      int           // Maximum number of sockets. Default 20,000.
	AuthTimeout  time.Duration // Time to authenticate. Default 5 s.
	Ping         time.Duration // Interval between pings. Default 25 s.
	PongTimeout  time.Duration // Time to answer a ping. Default 10 s.
	WriteTimeout time.Duration // Timeout of a write. Default 10 s.
	CloseTimeout time.Duration // Time for the closing handshake. Default 5 s.
}

func (c LiveConfig) withDefaults() LiveConfig {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.AuthTimeout, 5 * time.Second},
		{&c.Ping, 25 * time.Second},
		{&c.PongTimeout, 10 * time.Second},
		{&c.WriteTimeout, 10 * time.Second},
		{&c.CloseTimeout, 5 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if c.Sockets <= 0 {
		c.Sockets = 20_000
	}
	return c
}

// Live serves GET /v1/live: WebSockets that announce changes. It is safe for concurrent use.
type Live struct {
	feed     *stream.Feed
	identity *identity.Service
	limiter  *ratelimit.Limiter
	log      *slog.Logger
	cfg      LiveConfig
	host     string // The host of the public URL.

	mu       sync.Mutex
	sockets  map[*socket]struct{}               // Guarded by mu.
	people   map[uuid.UUID]map[*socket]struct{} // Guarded by mu. Sockets by person.
	draining bool                               // Guarded by mu. New sockets are refused.
	empty    chan struct{}                      // Closed with mu held when the last socket ends during draining.

	hurry context.Context // Canceled by cut: aborts closing handshakes.
	cut   context.CancelFunc
}

// NewLive returns a Live without sockets. A nil limiter allows any number of sockets per person.
func NewLive(feed *stream.Feed, people *identity.Service, limiter *ratelimit.Limiter, log *slog.Logger, cfg LiveConfig) *Live {
	if limiter == nil {
		limiter = ratelimit.New(nil, nil)
	}
	hurry, cut := context.WithCancel(context.Background())
	l := &Live{
		hurry: hurry, cut: cut, feed: feed, identity: people, limiter: limiter,
		log: slog.New(NewLogHandler(log.Handler())), cfg: cfg.withDefaults(),
		sockets: make(map[*socket]struct{}), people: make(map[uuid.UUID]map[*socket]struct{}),
		empty: make(chan struct{}),
	}
	if u, err := url.Parse(cfg.PublicURL); err == nil {
		l.host = u.Host
	}
	return l
}

// Open returns the number of open sockets.
func (l *Live) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sockets)
}

// Drain refuses new sockets and closes the existing ones with code 1012, spread evenly over a duration, so that clients
// do not all reconnect at once. It returns when all are closed. When ctx ends, it closes the remaining sockets at once
// and returns the error of ctx.
func (l *Live) Drain(ctx context.Context, over time.Duration) error {
	l.mu.Lock()
	first := !l.draining
	l.draining = true
	left := make([]*socket, 0, len(l.sockets))
	for s := range l.sockets {
		left = append(left, s)
	}
	if first && len(left) == 0 {
		close(l.empty)
	}
	l.mu.Unlock()

	pace := time.NewTimer(0)
	defer pace.Stop()
	for _, s := range left {
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
		s.end(closeRestart)
		pace.Reset(over / time.Duration(len(left)))
	}
	select {
	case <-l.empty:
		return nil
	case <-ctx.Done():
		l.cut()
		<-l.empty
		return ctx.Err()
	}
}

// serve upgrades a request and serves the socket until either side ends it.
func (l *Live) serve(w http.ResponseWriter, r *http.Request) error {
	if err := l.check(w, r); err != nil {
		return err
	}
	// Detached from the server's base context, because its end would not notify clients; Drain does.
	ctx, end := context.WithCancelCause(context.WithoutCancel(r.Context()))
	s := &socket{live: l, ctx: ctx, end: end}
	defer end(nil)
	if err := l.enter(s); err != nil {
		return err
	}
	defer l.leave(s)
	upgrade := &upgrade{ResponseWriter: w}
	conn, err := websocket.Accept(upgrade, r, &websocket.AcceptOptions{
		OriginPatterns:  []string{l.host}, // In addition to the request's own host, as in check.
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil //nolint:nilerr // The library has answered the client.
	}
	s.run(conn, upgrade.conn)
	return nil
}

// upgrade keeps a reference to the hijacked connection, so that it can always be closed.
type upgrade struct {
	http.ResponseWriter
	conn net.Conn
}

func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	u.conn = conn
	return conn, rw, err
}

// check refuses a request that is not a valid upgrade, before the response begins.
func (l *Live) check(w http.ResponseWriter, r *http.Request) error {
	h := r.Header
	if r.ProtoMajor != 1 || r.ProtoMinor < 1 || !hasToken(h, "Connection", "upgrade") ||
		!hasToken(h, "Upgrade", "websocket") ||
		h.Get("Sec-Websocket-Version") != "13" {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Sec-Websocket-Version", "13")
		return fault.Errorf(codeUpgrade, "この機能は WebSocket で利用します。")
	}
	keys := h.Values("Sec-Websocket-Key")
	if len(keys) != 1 {
		return fault.Errorf(fault.Invalid, "Sec-WebSocket-Key を一つ指定してください。")
	}
	if key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0])); err != nil || len(key) != 16 {
		return fault.Errorf(fault.Invalid, "Sec-WebSocket-Key の形式が正しくありません。")
	}
	if !l.allows(h.Values("Origin"), r.Host) {
		return fault.Errorf(fault.Forbidden, "このサイトからは接続できません。")
	}
	return nil
}

// allows reports whether pages of an origin may connect. Only this server's pages may. Clients other than browsers send
// no origin.
func (l *Live) allows(origins []string, host string) bool {
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	return strings.EqualFold(u.Host, host) || strings.EqualFold(u.Host, l.host)
}

// hasToken reports whether a list-valued header contains a token.
func hasToken(h http.Header, name, token string) bool {
	for _, value := range h.Values(name) {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// enter admits a socket or returns the reason for the refusal.
func (l *Live) enter(s *socket) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.draining {
		return fault.Errorf(fault.Unavailable, "サーバーを再起動しています。少し時間をおいて、もう一度お試しください。")
	}
	if len(l.sockets) >= l.cfg.Sockets {
		return fault.Errorf(fault.Unavailable, busyDetail)
	}
	l.sockets[s] = struct{}{}
	return nil
}

// leave reverts enter and claim.
func (l *Live) leave(s *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sockets, s)
	if s.claimed {
		s.leave()
		if delete(l.people[s.userID], s); len(l.people[s.userID]) == 0 {
			delete(l.people, s.userID)
		}
	}
	if l.draining && len(l.sockets) == 0 {
		close(l.empty)
	}
}

// claim assigns a socket to a person, unless the person or their organization is at the limit.
func (l *Live) claim(s *socket, actor identity.Actor) bool {
	leave, err := l.limiter.Hold(ratelimit.KindSocket, actor)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.people[actor.ID] == nil {
		l.people[actor.ID] = make(map[*socket]struct{}, 1)
	}
	l.people[actor.ID][s] = struct{}{}
	s.claimed, s.userID, s.leave = true, actor.ID, leave
	return true
}

// People returns the people who have sockets on this server, in any order.
func (l *Live) People() []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.people))
}

// End closes a person's sockets with code 4401, as for an expired token: clients that can get new tokens reconnect. It
// does not wait.
func (l *Live) End(userID uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.people[userID] {
		s.end(closeExpired)
	}
}
