package main

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	r3sse "github.com/r3labs/sse/v2"
	tmsse "github.com/tmaxmax/go-sse"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// ourHub is package stream as the API uses it, on one of its two paths.
type ourHub struct {
	hub    *stream.Hub
	server *sse.Server
}

func newOurHub(fast bool) *ourHub {
	return &ourHub{hub: stream.NewHub(stream.HubConfig{}), server: sse.NewServer(sse.Config{Fast: fast})}
}

func (h *ourHub) Open(name string) { h.hub.Open(stream.Head{MessageID: name, Run: 1}) }

func (h *ourHub) Publish(name string, n int) {
	h.hub.Find(name).AppendText(string(llmtest.AppendToken(nil, n)))
}

func (h *ourHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := h.hub.Find(r.URL.Query().Get("stream"))
	if text == nil {
		http.NotFound(w, r)
		return
	}
	h.server.Serve(w, r, sse.Delivery{
		Watch: text.Watch(r.Header.Get("Last-Event-ID")), Until: time.Now().Add(time.Hour),
		Done: func(error) {}, // The client has disconnected.
	})
}

// r3labsHub is r3labs/sse with its defaults. It replays all events or none. With replay, it assigns the event ids
// itself.
type r3labsHub struct{ *r3sse.Server }

func newR3labsHub(replay int) r3labsHub {
	server := r3sse.New()
	server.AutoReplay = replay > 0
	return r3labsHub{server}
}

func (h r3labsHub) Open(name string) { h.CreateStream(name) }

func (h r3labsHub) Publish(name string, n int) {
	h.Server.Publish(name, &r3sse.Event{ID: appendID(nil, n), Data: appendData(nil, n)})
}

// tmaxmaxHub is tmaxmax/go-sse with its default provider and one topic per stream.
type tmaxmaxHub struct {
	*tmsse.Server
	numbered bool // The replayer assigns the event ids.
}

func newTmaxmaxHub(replay int) (tmaxmaxHub, error) {
	joe := &tmsse.Joe{}
	if replay > 0 {
		replayer, err := tmsse.NewFiniteReplayer(replay, true)
		if err != nil {
			return tmaxmaxHub{}, fmt.Errorf("tmaxmax/go-sse: %w", err)
		}
		joe.Replayer = replayer
	}
	return tmaxmaxHub{numbered: replay > 0, Server: &tmsse.Server{
		Provider: joe,
		OnSession: func(_ http.ResponseWriter, r *http.Request) ([]string, bool) {
			return []string{r.URL.Query().Get("stream")}, true
		},
	}}, nil
}

func (tmaxmaxHub) Open(string) {}

func (h tmaxmaxHub) Publish(name string, n int) {
	m := &tmsse.Message{}
	if !h.numbered {
		m.ID = tmsse.ID(string(appendID(nil, n)))
	}
	m.AppendData(string(appendData(nil, n)))
	if err := h.Server.Publish(m, name); err != nil {
		panic("tmaxmax/go-sse: " + err.Error()) // Happens only if the server is closed or the message is invalid.
	}
}

// bareHub is the minimal server on net/http that sends each event at once. Clients share encoded frames. A client's
// state is an index into the frames. One broadcast wakes all clients. Each event is one write and one flush.
type bareHub struct {
	mu      sync.RWMutex
	streams map[string]*bareStream // Guarded by mu.
}

type bareStream struct {
	mu     sync.Mutex
	frames [][]byte      // Guarded by mu. Only appended to.
	wake   chan struct{} // Guarded by mu. Closed at the next frame.
}

func newBareHub() *bareHub { return &bareHub{streams: make(map[string]*bareStream)} }

func (h *bareHub) Open(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams[name] = &bareStream{wake: make(chan struct{})}
}

func (h *bareHub) find(name string) *bareStream {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.streams[name]
}

func (h *bareHub) Publish(name string, n int) {
	s := h.find(name)
	frame := appendFrame(nil, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, frame)
	close(s.wake)
	s.wake = make(chan struct{})
}

func (h *bareHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.find(r.URL.Query().Get("stream"))
	if s == nil {
		http.NotFound(w, r)
		return
	}
	next := 0
	if _, offset, found := strings.Cut(r.Header.Get("Last-Event-ID"), "-"); found {
		n, _ := strconv.Atoi(offset) // The load generator sends valid ids.
		next = n / tokenBytes
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	for err := flush(); err == nil; {
		s.mu.Lock()
		frames, wake := s.frames[next:], s.wake
		s.mu.Unlock()
		for _, frame := range frames {
			if _, err = w.Write(frame); err == nil {
				err = flush()
			}
			if err != nil {
				return
			}
		}
		next += len(frames)
		select {
		case <-wake:
		case <-r.Context().Done():
			return
		}
	}
}

// rawHub only writes the frames to the clients' TCP connections, to measure the cost of the system calls. A stalled
// client blocks it.
type rawHub struct {
	mu      sync.RWMutex
	streams map[string]*rawStream // Guarded by mu.
}

type rawStream struct {
	mu    sync.Mutex
	conns []net.Conn // Guarded by mu.
}

func newRawHub() *rawHub { return &rawHub{streams: make(map[string]*rawStream)} }

func (h *rawHub) Open(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams[name] = &rawStream{}
}

func (h *rawHub) find(name string) *rawStream {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.streams[name]
}

func (h *rawHub) Publish(name string, n int) {
	s := h.find(name)
	frame := appendFrame(nil, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_, _ = conn.Write(frame) // Fails if the client has disconnected.
	}
}

func (h *rawHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := h.find(r.URL.Query().Get("stream"))
	if s == nil {
		http.NotFound(w, r)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if _, err := conn.Write(
		[]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"),
	); err != nil {
		_ = conn.Close()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
}
