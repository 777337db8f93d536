package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// maxLiveFrame bounds a client's message, in bytes. A token has at most 8 KiB.
const maxLiveFrame = 16 << 10

// closeReason is the reason for the end of a socket: the close frame for the client. The codes are part of the
// contract.
type closeReason struct {
	code   websocket.StatusCode
	reason string // For debugging. With 4401 it is the detail of the problem.
}

// Error implements error, so that a closing can be a context's cause.
func (c *closeReason) Error() string { return c.reason }

// Application close codes. 44xx corresponds to HTTP's 4xx.
const (
	codeUnauthenticated websocket.StatusCode = 4401
	codeAuthTimeout     websocket.StatusCode = 4408
)

var (
	closeGone     = &closeReason{websocket.StatusNormalClosure, ""} // The client disconnected.
	closeRestart  = &closeReason{websocket.StatusServiceRestart, "the server is about to stop"}
	closeSlow     = &closeReason{websocket.StatusTryAgainLater, "too slow"}
	closeNoPong   = &closeReason{websocket.StatusTryAgainLater, "no pong"}
	closeTooMany  = &closeReason{websocket.StatusTryAgainLater, "too many sockets of one person or organization"}
	closeBusy     = &closeReason{websocket.StatusTryAgainLater, "tokens cannot be looked at now"}
	closeNoAuth   = &closeReason{codeAuthTimeout, "no auth in time"}
	closeExpired  = &closeReason{codeUnauthenticated, identity.ErrExpired.Detail}
	closeStranger = &closeReason{codeUnauthenticated, "the token belongs to somebody else"}
	closeScope    = &closeReason{websocket.StatusPolicyViolation, "the token does not have the scope chat"}
	closeAddress  = &closeReason{websocket.StatusPolicyViolation, "not from a network of the organization"}
	closeNotText  = &closeReason{websocket.StatusPolicyViolation, "not a text frame"}
)

// readyEvent makes a client reload.
var readyEvent = encodeEvent(LiveReady{Type: "ready"})

// socket is one client's connection. Three goroutines read, write events, and ping. The request's goroutine waits for
// the end, sends the close frame, and waits for the three.
type socket struct {
	live *Live
	conn *websocket.Conn // Set by run.

	ctx context.Context         // Ends with the socket. Its cause is a *closing.
	end context.CancelCauseFunc // The first cause wins.

	claimed bool      // Guarded by Live's mu. The socket counts for userID.
	userID  uuid.UUID // Guarded by Live's mu until claimed, then constant.
	leave   func()    // Releases its slot. Guarded like userID.

	workers sync.WaitGroup
	// Ends the socket when its token is missing or expired. Owned by read, then by close.
	expiry *time.Timer
}

// run serves an accepted connection until the socket's context ends. tcp is the underlying connection.
func (s *socket) run(conn *websocket.Conn, tcp net.Conn) {
	s.conn = conn
	s.conn.SetReadLimit(maxLiveFrame)
	s.expiry = time.AfterFunc(s.live.cfg.AuthTimeout, func() { s.end(closeNoAuth) })
	s.workers.Go(s.read)
	s.workers.Go(s.ping)
	<-s.ctx.Done()
	s.close(tcp)
}

// close sends the close frame and waits for the goroutines.
func (s *socket) close(tcp net.Conn) {
	cut := func() { _ = tcp.Close() }
	limit := time.AfterFunc(s.live.cfg.CloseTimeout, cut)
	defer limit.Stop()
	stop := context.AfterFunc(s.live.hurry, cut)
	defer stop()

	why := closeGone
	errors.As(context.Cause(s.ctx), &why)
	_ = s.conn.Close(why.code, why.reason) // The client may have disconnected.
	s.workers.Wait()
	s.expiry.Stop()
	s.live.log.InfoContext(s.ctx, "live socket closed", "code", int(why.code), "reason", why.reason)
}

// ping checks at intervals that the client responds. It runs in its own goroutine.
func (s *socket) ping() {
	ticker := time.NewTicker(s.live.cfg.Ping)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			return
		}
		// Not the socket's context, because its end would close the connection before the close frame is sent.
		ctx, cancel := context.WithTimeout(context.Background(), s.live.cfg.PongTimeout)
		err := s.conn.Ping(ctx)
		cancel()
		if err != nil {
			s.end(closeNoPong)
			return
		}
	}
}

// read handles the client's messages until the connection ends. It runs in its own goroutine.
func (s *socket) read() {
	for {
		// No context, for the same reason as in ping.
		kind, frame, err := s.conn.Read(context.Background())
		if err != nil {
			s.end(closeGone) // Or the library has sent the close frame.
			return
		}
		if why := s.receive(kind, frame); why != nil {
			s.end(why)
			// Messages are ignored until the client responds to the close frame.
		}
	}
}

// receive handles a client's message. It returns a reason if the socket must close.
func (s *socket) receive(kind websocket.MessageType, frame []byte) *closeReason {
	if s.ctx.Err() != nil {
		return nil
	}
	if kind != websocket.MessageText {
		return closeNotText
	}
	token, err := parseLiveAuth(frame)
	if err != nil {
		return &closeReason{websocket.StatusPolicyViolation, err.Error()}
	}
	if !s.claimed {
		s.expiry.Stop() // The message arrived in time.
	}
	ctx, cancel := context.WithTimeout(s.ctx, callTimeout)
	defer cancel()
	actor, err := s.live.identity.Authenticate(ctx, token, clientAddress(s.ctx))
	if err != nil {
		return s.refusal(ctx, err)
	}
	if !actor.HasScope(identity.ScopeChat) {
		return closeScope
	}
	return s.admit(ctx, actor)
}

// refusal returns the closing for a token that is invalid or cannot be checked.
func (s *socket) refusal(ctx context.Context, err error) *closeReason {
	if statuses[fault.CodeOf(err)] == http.StatusUnauthorized {
		return &closeReason{codeUnauthenticated, fault.DetailOf(err)}
	}
	if errors.Is(err, identity.ErrAddress) {
		return closeAddress
	}
	s.live.log.WarnContext(ctx, "api: verifying a live socket's token failed", "err", err)
	return closeBusy
}

// admit extends the life of the socket to the expiry of the actor's token.
func (s *socket) admit(ctx context.Context, actor identity.Actor) *closeReason {
	left := time.Until(actor.ExpiresAt)
	if left <= 0 {
		return closeExpired
	}
	if s.claimed { // Only this goroutine claims.
		if actor.ID != s.userID {
			return closeStranger
		}
		s.expire(left)
		return nil
	}
	if !s.live.claim(s, actor) {
		return closeTooMany
	}
	actor, err := s.live.identity.Recheck(ctx, actor)
	if err != nil { // The actor changed before End could find the socket.
		return s.refusal(ctx, err)
	}
	var projects []uuid.UUID
	if s.live.cfg.Projects != nil {
		// A later change of the actor's roles ends the socket.
		if projects, err = s.live.cfg.Projects(ctx, actor.Owner()); err != nil {
			return s.refusal(ctx, err)
		}
	}
	s.expire(left)
	events := s.live.feed.Subscribe(topicsOf(actor, projects)...)
	s.workers.Go(func() { s.write(events) })
	return nil
}

// expire ends the socket after a duration.
func (s *socket) expire(after time.Duration) {
	s.expiry.Stop() // If the timer has fired, the socket has ended.
	s.expiry = time.AfterFunc(after, func() { s.end(closeExpired) })
}

// write sends events to the client until the socket ends. It runs in its own goroutine.
func (s *socket) write(events *stream.Subscription) {
	defer events.Leave()
	event := readyEvent
	for {
		if !s.send(event) {
			return
		}
		var err error
		event, err = events.Next(s.ctx)
		switch {
		case errors.Is(err, stream.ErrMissed):
			event = readyEvent
		case errors.Is(err, stream.ErrTooSlow):
			s.end(closeSlow)
			return
		case err != nil:
			return
		}
	}
}

// send writes one event, or ends the socket.
func (s *socket) send(event []byte) bool {
	slow := time.AfterFunc(s.live.cfg.WriteTimeout, func() { s.end(closeSlow) })
	defer slow.Stop()
	// No context, for the same reason as in ping. The end of the socket aborts a blocked write.
	if err := s.conn.Write(context.Background(), websocket.MessageText, event); err != nil {
		s.end(closeGone)
		return false
	}
	return true
}

var (
	errLiveFrame = errors.New("not a JSON object with type and token")
	errLiveType  = errors.New("unknown type")
)

// parseLiveAuth parses a client's message, which must have the type auth, and returns its token.
func parseLiveAuth(frame []byte) (token string, err error) {
	decoder := json.NewDecoder(bytes.NewReader(frame))
	decoder.DisallowUnknownFields()
	var auth LiveAuth
	if err := decoder.Decode(&auth); err != nil {
		return "", errLiveFrame
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return "", errLiveFrame
	}
	switch {
	case auth.Type != "auth":
		return "", errLiveType
	case auth.Token == "":
		return "", errLiveFrame
	}
	return auth.Token, nil
}
