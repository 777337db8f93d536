package stream

import (
	"context"
	"errors"
)

// Transport joins the hubs of several servers, so that a text that one of them publishes can be watched through any
// other. It is safe for concurrent use.
type Transport interface {
	// Writer returns the writer of one run of a message's log.
	Writer(messageID string, run int) LogWriter

	// Follow calls deliver with every entry of a message's log in order, from the first of the oldest run that is
	// stored, whichever server wrote it, and then with new ones until ctx ends. more means that other entries follow at
	// once; a nil entry means only that none do. If entries were lost meanwhile, Follow begins again from the first
	// one: entries are idempotent. deliver is called from one goroutine and keeps the entry. Follow returns the
	// context's error, and does not call deliver after that.
	Follow(ctx context.Context, messageID string, deliver func(entry []byte, more bool)) error

	// Publish sends an event to every other server. It is not stored: a server that cannot be reached misses it.
	Publish(topic string, event []byte)

	// Subscribe calls receive with the events that other servers publish, and missed when some may have been missed,
	// from one goroutine, until stop is called. stop waits for that goroutine.
	Subscribe(receive func(topic string, event []byte), missed func()) (stop func(), err error)
}

// LogWriter appends to the log of a run. It belongs to one goroutine.
type LogWriter interface {
	// Append adds an entry and returns when it is stored. The caller may change the entry afterwards. ErrStale means
	// that a later run has written since: the entry is not stored, and none of this run will be. ErrLost means that the
	// entry is not stored and that earlier entries of the run are lost: they must be appended again from the start.
	// After any other error the entry may be stored or not; the same one, or one that contains it, may be appended
	// again.
	Append(ctx context.Context, entry []byte) error

	// Close says that nothing will be appended: the log may be deleted after a while.
	Close()
}

// Errors of Append.
var (
	ErrStale = errors.New("stream: a later run has begun")
	ErrLost  = errors.New("stream: the log of the run is lost")
)
