package stream

import (
	"context"
	"errors"
)

// Transport joins the hubs of several servers, so that what one publishes can be watched through any other. A Hub and a
// Feed without one are alone. It is safe for concurrent use.
type Transport interface {
	// Writer returns the writer of one run of a message's log.
	Writer(messageID string, run int) LogWriter

	// Follow calls deliver with every entry of a message's log, from the first of the oldest run that is kept, in order and
	// whatever server wrote it, and goes on with new ones until ctx ends. more says that others follow at once; an entry of
	// nil says nothing but that none do. When entries were lost meanwhile, it begins again from the first one: entries are
	// idempotent. deliver is called from one goroutine, and keeps the entry; no call comes after Follow has returned, which it
	// does with the context's error.
	Follow(ctx context.Context, messageID string, deliver func(entry []byte, more bool)) error

	// Publish tells every other server of an event. It is not stored: a server that cannot be reached misses it.
	Publish(topic string, event []byte)

	// Subscribe calls receive with the events that other servers publish, and missed when some may have been missed, each
	// from one goroutine, until stop is called, which waits for that goroutine.
	Subscribe(receive func(topic string, event []byte), missed func()) (stop func(), err error)
}

// LogWriter adds to the log of a run. It belongs to one goroutine.
type LogWriter interface {
	// Append adds an entry, which the caller may change afterwards, and returns when it is kept. ErrStale says that a later
	// run has written since: nothing was kept, and nothing of this run ever will be. ErrLost says that nothing was kept, and
	// that what was kept of the run is lost: it is to be appended again from its start. After any other error the entry may
	// have been kept or not; the same or one that contains it may be appended again.
	Append(ctx context.Context, entry []byte) error

	// Close says that nothing will be added: what is kept may be forgotten after a while.
	Close()
}

// Errors of Append.
var (
	ErrStale = errors.New("stream: a later run has begun")
	ErrLost  = errors.New("stream: what was kept of the run is lost")
)
