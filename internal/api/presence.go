package api

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// Presence finds and ends the open streams, live sockets and transfers of people on this server.
type Presence struct {
	streams   *sse.Server
	live      *Live
	transfers *Transfers
}

// NewPresence returns the presence of the clients of streams, live and transfers.
func NewPresence(streams *sse.Server, live *Live, transfers *Transfers) *Presence {
	return &Presence{streams: streams, live: live, transfers: transfers}
}

// UserChanged ends the streams and live sockets of a user who has changed. Streams resume without a gap and live sockets
// reconnect, so people who still have access do not notice it. Transfers continue if their person still has access.
func (p *Presence) UserChanged(userID uuid.UUID) {
	p.streams.End(userID.String())
	p.live.End(userID)
	p.transfers.recheck(userID)
}

// ConnectedUsers returns the users who have open streams, sockets or transfers.
func (p *Presence) ConnectedUsers() []uuid.UUID {
	present := make(map[uuid.UUID]struct{})
	for _, person := range p.streams.People() {
		if id, ok := parseID(person); ok { // Always true, because admit has formatted it.
			present[id] = struct{}{}
		}
	}
	for _, id := range slices.Concat(p.live.People(), p.transfers.list()) {
		present[id] = struct{}{}
	}
	return slices.Collect(maps.Keys(present))
}
