package bridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// runHeader is the header that contains the run of an entry.
const runHeader = "Tsumugi-Run"

// conflicts bounds the retries of one Append after conflicting writes.
const conflicts = 4

// writer appends a run's entries. Each append requires that the last entry on the subject is the expected one: the
// writer's own, or one of an earlier run.
type writer struct {
	b       *Bridge
	subject string
	run     int

	known bool   // Whether last is known.
	last  uint64 // The sequence of the last entry on the subject, or 0.
	wrote bool   // Whether this writer appended it.
}

// Writer returns the writer of one run of a message's log.
func (b *Bridge) Writer(messageID string, run int) stream.LogWriter {
	return &writer{b: b, subject: textSubject(messageID), run: run}
}

// textSubject returns the subject of a message's entries.
func textSubject(messageID string) string { return textSubjects + token(messageID) }

func (w *writer) Append(ctx context.Context, entry []byte) error {
	if !w.b.nc.IsConnected() {
		return errDisconnected
	}
	err := w.append(ctx, entry)
	if err != nil && !errors.Is(err, stream.ErrStale) && !errors.Is(err, stream.ErrLost) {
		w.b.restore(ctx, err)
		err = fmt.Errorf("bridge: %w", err)
	}
	return err
}

func (w *writer) append(ctx context.Context, entry []byte) error {
	var err error
	for range conflicts {
		if !w.known {
			if err := w.look(ctx); err != nil {
				return err
			}
		}
		msg := &nats.Msg{Subject: w.subject, Data: entry, Header: nats.Header{
			runHeader:                           {strconv.Itoa(w.run)},
			jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(w.last, 10)},
		}}
		var ack *jetstream.PubAck
		if ack, err = w.b.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0)); err == nil {
			w.last, w.wrote = ack.Sequence, true
			return nil
		}
		switch errorCode(err) {
		case jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			w.known = false
		default:
			return err
		}
	}
	return err
}

// look reads the last entry on the subject. If this writer has appended it, its acknowledgement was lost. The writer
// sends the entry again, which has no effect.
func (w *writer) look(ctx context.Context) error {
	s, err := w.b.js.Stream(ctx, StreamName)
	if err != nil {
		return err
	}
	msg, err := s.GetLastMsgForSubject(ctx, w.subject)
	run, sequence := 0, uint64(0)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return err
	default:
		run, sequence = runOf(msg.Header), msg.Sequence
	}
	if run > w.run {
		return stream.ErrStale
	}
	lost := w.wrote && run != w.run
	w.known, w.last, w.wrote = true, sequence, run == w.run
	if lost {
		return stream.ErrLost
	}
	return nil
}

func runOf(h nats.Header) int {
	run, err := strconv.Atoi(h.Get(runHeader))
	if err != nil {
		return 0
	}
	return run
}

// Close schedules the purge of the run's entries and those of earlier runs.
func (w *writer) Close() {
	if !w.wrote {
		return
	}
	select {
	case w.b.ending <- ended{w.subject, w.last, time.Now().Add(w.b.cfg.Forget)}:
	default: // They expire by their age.
	}
}

// ended is a run whose entries may be purged.
type ended struct {
	subject string
	last    uint64
	due     time.Time
}

// forget purges the entries of completed runs. It is a goroutine of the bridge.
func (b *Bridge) forget() {
	for {
		var e ended
		select {
		case e = <-b.ending:
		case <-b.root.Done():
			return
		}
		select {
		case <-time.After(time.Until(e.due)):
		case <-b.root.Done():
			return
		}
		if err := b.purge(e); err != nil {
			b.log.Warn("bridge: purging a text failed, it expires later", "err", err)
		}
	}
}

func (b *Bridge) purge(e ended) error {
	ctx, cancel := context.WithTimeout(b.root, 2*time.Second)
	defer cancel()
	s, err := b.js.Stream(ctx, StreamName)
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(e.subject), jetstream.WithPurgeSequence(e.last+1))
}

func (b *Bridge) Follow(ctx context.Context, messageID string, deliver func(entry []byte, more bool)) error {
	pause := 100 * time.Millisecond
	for {
		began := time.Now()
		err := b.follow(ctx, textSubject(messageID), deliver)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.log.Debug("bridge: restarting to follow a text", "message_id", messageID, "err", err)
		b.restore(ctx, err)
		if time.Since(began) > 10*time.Second {
			pause = 100 * time.Millisecond
		}
		select {
		case <-time.After(rand.N(pause)): //nolint:gosec // Spreads the servers; not a secret.
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, 2*time.Second)
	}
}

var (
	errGap    = errors.New("bridge: entries were lost on the way")
	errResync = errors.New("bridge: entries may have been lost on the way")
)

// follow delivers entries from the first stored one until one is lost in transit or NATS stops sending. NATS pushes
// them through a consumer of this call, numbers them, and sends the current number in its idle heartbeats.
func (b *Bridge) follow(ctx context.Context, subject string, deliver func(entry []byte, more bool)) error {
	if !b.nc.IsConnected() {
		// Otherwise the client would buffer this request and those of later attempts until it is connected.
		return errDisconnected
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	inbox := b.nc.NewInbox()
	sub, err := b.nc.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // Also deletes the consumer.
	defer b.onResync(func(of *nats.Subscription) {
		if of == nil || of == sub {
			cancel(errResync)
		}
	})()
	stored, err := b.consume(ctx, subject, inbox)
	if err != nil {
		return err
	}
	if stored == 0 {
		deliver(nil, false)
	}
	for received, more := uint64(0), false; ; {
		msg, err := b.next(ctx, sub)
		if err != nil {
			return err
		}
		if msg.Header.Get("Status") != "" {
			if last := msg.Header.Get("Nats-Last-Consumer"); last != "" && last != strconv.FormatUint(received, 10) {
				return errGap
			}
			if b.allowMore(msg); more {
				more = false
				deliver(nil, false)
			}
			continue
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if received++; meta.Sequence.Consumer != received {
			return errGap
		}
		more = meta.NumPending > 0
		deliver(msg.Data, more)
	}
}

// consume creates a consumer that pushes a subject's entries to an inbox, and returns the number of stored entries.
func (b *Bridge) consume(ctx context.Context, subject, inbox string) (stored uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, setupCall)
	defer cancel()
	consumer, err := b.js.CreatePushConsumer(ctx, StreamName, jetstream.ConsumerConfig{
		DeliverSubject: inbox, FilterSubject: subject, DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:   jetstream.AckNonePolicy,
		FlowControl: true, IdleHeartbeat: b.cfg.Heartbeat, InactiveThreshold: 5 * time.Second, MemoryStorage: true,
		Replicas: 1,
	})
	if err != nil {
		return 0, err
	}
	return consumer.CachedInfo().NumPending, nil
}

// next waits for a consumer's next message, which may be a heartbeat.
func (b *Bridge) next(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	timed, cancel := context.WithTimeout(ctx, 3*b.cfg.Heartbeat)
	defer cancel()
	msg, err := sub.NextMsgWithContext(timed)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return msg, err
}

// allowMore responds to NATS's flow control request. NATS waits for the response before it sends more.
func (b *Bridge) allowMore(msg *nats.Msg) {
	reply := msg.Reply
	if reply == "" {
		reply = msg.Header.Get("Nats-Consumer-Stalled")
	}
	if reply != "" {
		_ = b.nc.Publish(reply, nil) // If the reply is lost, NATS stops sending, and following restarts.
	}
}
