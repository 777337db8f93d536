package stream

import (
	"context"
	"errors"
)

// Transport connects the hubs of several servers, so that a text published by one of them can be watched on any other.
// It is safe for concurrent use.
type Transport interface {
	// Writer returns the writer of one run of a message's log.
	Writer(messageID string, run int) LogWriter

	// Follow calls deliver with every entry of a message's log in order, from any server: first the stored entries,
	// from the first one of the oldest run, then new ones until ctx ends. more means that further entries follow at
	// once. A nil entry means only that none do; it is also delivered first if nothing is stored. If entries were lost meanwhile, Follow restarts from the first one,
	// because entries are idempotent. Follow calls deliver from one goroutine, and deliver may retain the entry. Follow
	// returns the context's error, and does not call deliver after that.
	Follow(ctx context.Context, messageID string, deliver func(entry []byte, more bool)) error

	// Publish sends an event to every other server. It is not stored: an unreachable server misses it.
	Publish(topic string, event []byte)

	// Subscribe calls receive with the events of other servers, and missed when events may have been missed, until stop
	// is called. Both are called from one goroutine. stop waits for that goroutine.
	Subscribe(receive func(topic string, event []byte), missed func()) (stop func(), err error)
}

// LogWriter appends to the log of a run. It belongs to one goroutine.
type LogWriter interface {
	// Append adds an entry and returns when it is stored. The caller may change the entry afterwards. ErrStale means
	// that a later run has written since: the entry is not stored, and later entries of this run will not be stored
	// either. ErrLost means that the entry is not stored and that earlier entries of the run are lost: they must be
	// appended again from the start. After any other error the entry may have been stored; the same entry, or one that
	// contains it, may be appended again.
	Append(ctx context.Context, entry []byte) error

	// Close ends the writer. The log may be deleted after a while.
	Close()
}

// Errors of Append.
var (
	ErrStale = errors.New("stream: a later run has begun")
	ErrLost  = errors.New("stream: the log of the run is lost")
)
