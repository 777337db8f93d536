package api

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

var _ identity.Events = (*Presence)(nil)

// Presence knows who has streams and live sockets open on this server, and ends them.
type Presence struct {
	streams *sse.Server
	live    *Live
}

// NewPresence returns the presence of those whom the two serve.
func NewPresence(streams *sse.Server, live *Live) *Presence {
	return &Presence{streams: streams, live: live}
}

// PersonChanged implements identity.Events. Streams resume without a gap, and live sockets say where they stand:
// whoever is still allowed to sees nothing of it.
func (p *Presence) PersonChanged(userID uuid.UUID) {
	p.streams.End(userID.String())
	p.live.End(userID)
}

// Present implements identity.Events.
func (p *Presence) Present() []uuid.UUID {
	present := make(map[uuid.UUID]struct{})
	for _, person := range p.streams.People() {
		if id, ok := parseID(person); ok { // Always: admit has written it.
			present[id] = struct{}{}
		}
	}
	for _, id := range p.live.People() {
		present[id] = struct{}{}
	}
	return slices.Collect(maps.Keys(present))
}
