package streamtest

import (
	"context"
	"errors"
	"sync"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// Network connects hubs and feeds of one process, like a bridge connects those of several, with logs in memory. It is
// safe for concurrent use.
type Network struct {
	mu      sync.Mutex
	logs    map[string][]entry // Guarded by mu. By message.
	last    uint64             // Guarded by mu. Sequence of the latest entry.
	nodes   []*Node            // Guarded by mu.
	changed chan struct{}      // Guarded by mu. Closed at the next change.
}

type entry struct {
	sequence uint64
	run      int
	data     []byte
}

// NewNetwork returns a network without nodes.
func NewNetwork() *Network {
	return &Network{logs: make(map[string][]entry), changed: make(chan struct{})}
}

// Node is one server's transport.
type Node struct {
	network *Network

	cut       bool                    // Guarded by the network's mu.
	receivers map[chan event]struct{} // Guarded by the network's mu.
	// Guarded by the network's mu. Number of appends that will fail although they are stored.
	lostAcks  int
	followers int // Guarded by the network's mu.
}

// event is an event of a feed. A nil payload means that events were missed.
type event struct {
	topic   string
	payload []byte
}

var _ stream.Transport = (*Node)(nil)

// Node returns a new server's transport.
func (n *Network) Node() *Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	node := &Node{network: n, receivers: make(map[chan event]struct{})}
	n.nodes = append(n.nodes, node)
	return node
}

// broadcast signals a change. The caller holds mu.
func (n *Network) broadcast() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// Lose deletes all entries.
func (n *Network) Lose() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.logs)
	n.broadcast()
}

// Forget deletes the first entries of a message.
func (n *Network) Forget(messageID string, entries int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.logs[messageID] = n.logs[messageID][entries:]
	n.broadcast()
}

// Entries returns the number of stored entries of a message.
func (n *Network) Entries(messageID string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.logs[messageID])
}

// Cut breaks the node's link until Heal is called.
func (d *Node) Cut() { d.setCut(true) }

// Heal restores the node's link.
func (d *Node) Heal() { d.setCut(false) }

func (d *Node) setCut(cut bool) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	if d.cut && !cut {
		for receiver := range d.receivers {
			receiver <- event{}
		}
	}
	d.cut = cut
	d.network.broadcast()
}

// LoseAcks makes the next n appends fail although their entries are stored.
func (d *Node) LoseAcks(n int) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	d.lostAcks = n
}

// Followers returns the number of logs followed through the node.
func (d *Node) Followers() int {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	return d.followers
}

// Changed returns a channel that is closed when anything changes.
func (n *Network) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

var errCut = errors.New("streamtest: the link is cut")

type writer struct {
	node      *Node
	messageID string
	run       int
	last      uint64 // The latest entry of this writer.
}

func (d *Node) Writer(messageID string, run int) stream.LogWriter {
	return &writer{node: d, messageID: messageID, run: run}
}

func (w *writer) Append(_ context.Context, data []byte) error {
	n := w.node.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.node.cut {
		return errCut
	}
	log := n.logs[w.messageID]
	last := entry{}
	if len(log) > 0 {
		last = log[len(log)-1]
	}
	switch {
	case last.run > w.run:
		return stream.ErrStale
	case w.last != 0 && last.run != w.run:
		w.last = 0
		return stream.ErrLost
	}
	n.last++
	n.logs[w.messageID] = append(log, entry{n.last, w.run, append([]byte(nil), data...)})
	w.last = n.last
	n.broadcast()
	if w.node.lostAcks > 0 {
		w.node.lostAcks--
		return errCut
	}
	return nil
}

func (w *writer) Close() {}

func (d *Node) Follow(ctx context.Context, messageID string, deliver func(entry []byte, more bool)) error {
	n := d.network
	n.mu.Lock()
	d.followers++
	n.broadcast()
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		d.followers--
		n.broadcast()
	}()
	for seen, first := uint64(0), true; ctx.Err() == nil; first = false {
		n.mu.Lock()
		changed := n.changed
		var fresh []entry
		if d.cut {
			seen = 0 // After Heal, all entries are delivered again.
		} else {
			for _, e := range n.logs[messageID] {
				if e.sequence > seen {
					fresh = append(fresh, e)
				}
			}
		}
		empty := first && !d.cut && len(fresh) == 0
		n.mu.Unlock()
		for i, e := range fresh {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			deliver(e.data, i < len(fresh)-1)
			seen = e.sequence
		}
		if len(fresh) > 0 {
			continue
		}
		if empty {
			deliver(nil, false)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (d *Node) Publish(topic string, payload []byte) {
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if d.cut {
		return
	}
	for _, other := range n.nodes {
		if other == d || other.cut {
			continue
		}
		for receiver := range other.receivers {
			receiver <- event{topic, payload}
		}
	}
}

func (d *Node) Subscribe(receive func(topic string, payload []byte), missed func()) (stop func(), err error) {
	receiver := make(chan event, 1<<16)
	n := d.network
	n.mu.Lock()
	d.receivers[receiver] = struct{}{}
	n.mu.Unlock()
	var work sync.WaitGroup
	work.Go(func() {
		for e := range receiver {
			if e.payload == nil {
				missed()
			} else {
				receive(e.topic, e.payload)
			}
		}
	})
	return func() {
		n.mu.Lock()
		delete(d.receivers, receiver)
		n.mu.Unlock()
		close(receiver)
		work.Wait()
	}, nil
}
