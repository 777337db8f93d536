package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/google/uuid"
)

const maxSockets = 10 // For each app.

// socket is a connection of Socket Mode.
type socket struct {
	app    *App
	conn   *websocket.Conn
	cancel context.CancelFunc
	sent   int                             // The least used connection takes the next envelope.
	acks   map[string]chan json.RawMessage // By envelope.
}

func (c *call) connectionsOpen() (object, error) {
	if !c.app.SocketMode {
		return nil, fail("socket_mode_disabled")
	}
	if len(c.socketsOf(c.app)) >= maxSockets {
		return nil, fail("too_many_websockets")
	}
	ticket := secret()
	c.tickets[ticket] = c.app.ID
	return object{
		"url": "ws" + strings.TrimPrefix(c.url, "http") + "/link?ticket=" + ticket + "&app_id=" + c.app.ID,
	}, nil
}

// socketsOf returns an app's connections, the least used first. The caller holds w.mu.
func (w *Workspace) socketsOf(app *App) []*socket {
	var found []*socket
	for _, s := range w.sockets {
		if s.app == app {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b *socket) int { return a.sent - b.sent })
	return found
}

// serveSocket serves a connection of Socket Mode. Its ticket is valid once.
func (w *Workspace) serveSocket(writer http.ResponseWriter, request *http.Request) {
	ticket := request.URL.Query().Get("ticket")
	w.mu.Lock()
	app := w.apps[w.tickets[ticket]]
	delete(w.tickets, ticket)
	open := app != nil && !w.closed
	if open {
		w.work.Add(1)
	}
	w.mu.Unlock()
	if !open {
		http.Error(writer, "invalid ticket", http.StatusForbidden)
		return
	}
	defer w.work.Done()
	// Clients send various origins, such as https://api.slack.com.
	conn, err := websocket.Accept(writer, request, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxBody)
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	s := &socket{app: app, conn: conn, cancel: cancel, acks: map[string]chan json.RawMessage{}}
	w.mu.Lock()
	hello := object{
		"type": "hello", "num_connections": len(w.socketsOf(app)) + 1, "connection_info": object{"app_id": app.ID},
		"debug_info": object{"host": "fake", "build_number": 1, "approximate_connection_time": 18060},
	}
	w.mu.Unlock()
	if wsjson.Write(ctx, conn, hello) != nil {
		return
	}
	w.mu.Lock()
	w.sockets = append(w.sockets, s)
	w.touch()
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sockets = slices.DeleteFunc(w.sockets, func(other *socket) bool { return other == s })
		w.touch()
	}()
	w.listen(ctx, s)
}

// listen reads acknowledgements until the connection ends.
func (w *Workspace) listen(ctx context.Context, s *socket) {
	for {
		var ack struct {
			EnvelopeID string          `json:"envelope_id"`
			Payload    json.RawMessage `json:"payload"`
		}
		if wsjson.Read(ctx, s.conn, &ack) != nil {
			return
		}
		w.mu.Lock()
		if waiting := s.acks[ack.EnvelopeID]; waiting != nil {
			delete(s.acks, ack.EnvelopeID)
			waiting <- ack.Payload // Never blocks: the channel has capacity one.
		}
		w.mu.Unlock()
	}
}

var errNoSocket = errors.New("no connection of Socket Mode")

// envelope sends a payload over the app's least used connection and waits for its acknowledgement.
func (w *Workspace) envelope(ctx context.Context, app *App, kind string, body json.RawMessage, more object) (
	json.RawMessage, error,
) {
	id := uuid.NewString()
	acknowledged := make(chan json.RawMessage, 1)
	w.mu.Lock()
	open := w.socketsOf(app)
	if len(open) == 0 {
		w.mu.Unlock()
		return nil, errNoSocket
	}
	s := open[0]
	s.sent++
	s.acks[id] = acknowledged
	w.mu.Unlock()
	message := object{
		"envelope_id": id, "type": kind, "payload": body, "accepts_response_payload": kind != "events_api",
	}
	for name, value := range more {
		message[name] = value
	}
	ctx, cancel := context.WithTimeout(ctx, w.config.Timeout)
	defer cancel()
	defer func() {
		w.mu.Lock()
		delete(s.acks, id)
		w.mu.Unlock()
	}()
	if err := wsjson.Write(ctx, s.conn, message); err != nil {
		return nil, errNoSocket
	}
	select {
	case payload := <-acknowledged:
		return payload, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// overSocket delivers an event by Socket Mode and returns a status like overHTTP.
func (w *Workspace) overSocket(app *App, kind string, body json.RawMessage, retry int, reason string) int {
	_, err := w.envelope(w.ctx, app, kind, body, object{"retry_attempt": retry, "retry_reason": reason})
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, context.DeadlineExceeded):
		return timedOut
	}
	return unheard
}

// Sockets returns the number of an app's connections.
func (w *Workspace) Sockets(appID string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.socketsOf(w.apps[appID]))
}

// Refresh sends a disconnect message to an app's connections, as Slack does every few hours. reason is warning,
// refresh_requested or link_disabled. Refresh closes the connections unless reason is warning.
func (w *Workspace) Refresh(ctx context.Context, appID, reason string) error {
	w.mu.Lock()
	open := w.socketsOf(w.apps[appID])
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, s := range open {
		err := wsjson.Write(ctx, s.conn, object{
			"type": "disconnect", "reason": reason, "debug_info": object{"host": "fake"},
		})
		if err != nil {
			return err
		}
		if reason != "warning" {
			_ = s.conn.Close(websocket.StatusNormalClosure, reason) // The client may have closed it already.
		}
	}
	return nil
}

// Cut closes an app's connections of Socket Mode without a closing handshake.
func (w *Workspace) Cut(appID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.socketsOf(w.apps[appID]) {
		s.cancel()
	}
}
