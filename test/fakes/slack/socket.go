package slack

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/google/uuid"
)

// socket is a connection of Socket Mode.
type socket struct {
	conn   *websocket.Conn
	cancel context.CancelFunc
	sent   int                             // The least used connection takes the next envelope.
	acks   map[string]chan json.RawMessage // By envelope.
}

func (c *call) connectionsOpen() (object, error) {
	if !c.app.SocketMode {
		return nil, fail("socket_mode_disabled")
	}
	ticket := secret()
	c.tickets[ticket] = true
	return object{"url": "ws" + strings.TrimPrefix(c.url, "http") + "/link?ticket=" + ticket}, nil
}

// serveSocket serves a connection of Socket Mode. Its ticket is valid once.
func (w *Workspace) serveSocket(writer http.ResponseWriter, request *http.Request) {
	ticket := request.URL.Query().Get("ticket")
	w.mu.Lock()
	open := w.tickets[ticket] && !w.closed
	delete(w.tickets, ticket)
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
	hello := object{"type": "hello", "num_connections": w.Sockets() + 1, "connection_info": object{"app_id": DemoApp}}
	if wsjson.Write(ctx, conn, hello) != nil {
		return
	}
	s := &socket{conn: conn, cancel: cancel, acks: map[string]chan json.RawMessage{}}
	w.mu.Lock()
	w.sockets = append(w.sockets, s)
	w.touch()
	w.mu.Unlock()
	w.listen(ctx, s)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sockets = slices.DeleteFunc(w.sockets, func(other *socket) bool { return other == s })
	w.touch()
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

// envelope sends a payload over the least used connection and waits for its acknowledgement.
func (w *Workspace) envelope(ctx context.Context, kind string, body json.RawMessage, more object) (
	json.RawMessage, error,
) {
	id := uuid.NewString()
	acknowledged := make(chan json.RawMessage, 1)
	w.mu.Lock()
	if len(w.sockets) == 0 {
		w.mu.Unlock()
		return nil, errNoSocket
	}
	s := slices.MinFunc(w.sockets, func(a, b *socket) int { return a.sent - b.sent })
	s.sent++
	s.acks[id] = acknowledged
	w.mu.Unlock()
	message := object{
		"envelope_id": id, "type": kind, "payload": body, "accepts_response_payload": kind != "events_api",
	}
	maps.Copy(message, more)
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

// Sockets returns the number of connections.
func (w *Workspace) Sockets() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sockets)
}

// Refresh sends a disconnect message to the connections, as Slack does every few hours. reason is warning,
// refresh_requested or link_disabled. Refresh closes the connections unless reason is warning.
func (w *Workspace) Refresh(ctx context.Context, reason string) error {
	w.mu.Lock()
	open := slices.Clone(w.sockets)
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, s := range open {
		if err := wsjson.Write(ctx, s.conn, object{"type": "disconnect", "reason": reason}); err != nil {
			return err
		}
		if reason != "warning" {
			_ = s.conn.Close(websocket.StatusNormalClosure, reason) // The client may have closed it already.
		}
	}
	return nil
}

// Cut closes the connections without a closing handshake.
func (w *Workspace) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sockets {
		s.cancel()
	}
}
