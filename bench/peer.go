package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

// The systems that are compared.
const (
	ours     = "tsumugi"           // Production settings, with the fast path if the connection allows it.
	oursHTTP = "tsumugi, net/http" // The path that is used behind TLS or HTTP/2.
	r3labs   = "r3labs/sse"
	tmaxmax  = "tmaxmax/go-sse"
	bare     = "bare net/http"
	raw      = "raw TCP"

	lean  = "tsumugi, no database" // Tsumugi's model client and streams, without database and authentication.
	naive = "naive Go"
	aiSDK = "AI SDK on Node"
)

// spec is the configuration of a system's process.
type spec struct {
	Name        string `json:"name"`
	Replay      int    `json:"replay,omitempty"`       // Number of events that it must be able to replay.
	WriteBuffer int    `json:"write_buffer,omitempty"` // Size of a socket buffer in bytes; 0 is the kernel's default.
	Provider    string `json:"provider,omitempty"`     // Base URL of the model, for systems that use one.
	NATS        string `json:"nats,omitempty"`         // URL of the NATS server, for systems that use it.
}

// hub is a system under test. Tokens are published on its streams, which clients watch over HTTP.
type hub interface {
	// Open creates a stream. It is called before any other method for that stream.
	Open(stream string)

	// Publish sends token n. One goroutine publishes a stream's tokens in order, from 0.
	Publish(stream string, n int)

	// ServeHTTP sends the stream named in the query. If the hub can replay, it starts after the Last-Event-ID.
	http.Handler
}

// newHub returns a system.
func newHub(ctx context.Context, s spec) (hub, error) {
	switch s.Name {
	case ours, oursHTTP:
		return newOurHub(s.Name == ours), nil
	case bridged:
		return newBridgedHub(ctx, s.NATS)
	case r3labs:
		return newR3labsHub(s.Replay), nil
	case tmaxmax:
		return newTmaxmaxHub(s.Replay)
	case bare:
		return newBareHub(), nil
	case raw:
		return newRawHub(), nil
	case lean:
		return newLeanChat(s.Provider)
	case naive:
		return newNaiveChat(s.Provider), nil
	}
	return nil, fmt.Errorf("no system is called %q", s.Name)
}

// order is a command of the load generator to the process of a system, sent as a line of JSON.
type order struct {
	Op      string `json:"op"`                // open, sessions, burst, pace or heap
	Streams int    `json:"streams,omitempty"` // For open and pace: streams 0 to Streams-1.
	Events  int    `json:"events,omitempty"`  // For burst and pace: tokens per stream.
	Start   int64  `json:"start,omitempty"`   // For pace: due time of the first stream's first token, Unix time in ns.
	Every   int64  `json:"every,omitempty"`   // For pace: time between a stream's tokens, in ns.
}

// reply is the response to an order.
type reply struct {
	Address  string `json:"address,omitempty"`  // Sent once at the start, before any order.
	Sessions int    `json:"sessions,omitempty"` // Number of watch requests so far.
	Heap     uint64 `json:"heap,omitempty"`     // For heap: bytes of live heap and stacks.
}

// peer runs one system in this process.
type peer struct {
	hub      hub
	sessions atomic.Int64
	next     []int // Number of the next token, by stream.
}

// runPeer serves a system on a free port and executes the orders from in until EOF, which comes at the latest when the
// load generator ends.
func runPeer(ctx context.Context, s spec, in io.Reader, out io.Writer) error {
	wire.RaiseFileLimit()
	if s.Name == natsServer {
		return runNATS(in, out)
	}
	h, err := newHub(ctx, s)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if s.WriteBuffer > 0 {
		listener = smallBuffers{listener, s.WriteBuffer}
	}
	p := &peer{hub: h}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.sessions.Add(1)
			h.ServeHTTP(w, r)
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	err = p.obey(listener.Addr().String(), in, out)
	_ = server.Close() // Data in transit is not needed.
	if e := <-served; err == nil && !errors.Is(e, http.ErrServerClosed) {
		err = e
	}
	return err
}

// smallBuffers is a listener that shrinks the socket buffers of each client, so that stalled clients are noticed early.
type smallBuffers struct {
	net.Listener
	size int
}

func (l smallBuffers) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = errors.Join(err, tcp.SetWriteBuffer(l.size))
	}
	return conn, err
}

func (p *peer) obey(address string, in io.Reader, out io.Writer) error {
	answers := json.NewEncoder(out)
	if err := answers.Encode(reply{Address: address}); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		answer := reply{}
		switch o.Op {
		case "open":
			for i := range o.Streams {
				p.hub.Open(strconv.Itoa(i))
			}
			p.next = make([]int, o.Streams)
		case "burst":
			p.publish(0, o.Events)
		case "pace":
			p.pace(o)
		case "heap":
			answer.Heap = liveHeap()
		case "sessions":
		default:
			return fmt.Errorf("unknown order %q", o.Op)
		}
		answer.Sessions = int(p.sessions.Load())
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// liveHeap collects garbage and returns the size of the live heap and stacks, in bytes.
func liveHeap() uint64 {
	var stats runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

// publish sends a stream's next tokens as fast as the hub accepts them.
func (p *peer) publish(stream, events int) {
	name := strconv.Itoa(stream)
	for range events {
		p.hub.Publish(name, p.next[stream])
		p.next[stream]++
	}
}

// pace publishes on all streams at a fixed rate with one goroutine each, like generations. The streams' due times are
// spread evenly over the interval and do not drift.
func (p *peer) pace(o order) {
	var publishers sync.WaitGroup
	for stream := range o.Streams {
		publishers.Go(func() {
			timer := time.NewTimer(0)
			defer timer.Stop()
			<-timer.C
			for n := range o.Events {
				timer.Reset(time.Until(due(o, stream, n)))
				<-timer.C
				p.publish(stream, 1)
			}
		})
	}
	publishers.Wait()
}

// due returns the due time of a token of a paced stream.
func due(o order, stream, n int) time.Time {
	return time.Unix(0, o.Start+o.Every*int64(stream)/int64(o.Streams)+o.Every*int64(n))
}
