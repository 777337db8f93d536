package bridge

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// feedBuffer is how many events may wait for their receiver.
const feedBuffer = 8192

// settle is how long after a reconnection it is told that events were missed: until then, nodes that have not yet heard
// of the new subscription may still let events go by.
const settle = 200 * time.Millisecond

// token makes any string one token of a subject.
func token(s string) string { return "t" + base64.RawURLEncoding.EncodeToString([]byte(s)) }

func untoken(t string) (string, bool) {
	encoded, ok := strings.CutPrefix(t, "t")
	s, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(s), ok && err == nil
}

// missedToken stands for a topic where a server says that others may have missed events of its own: those that were on
// their way when it lost its connection. No topic's token begins like it.
const missedToken = "missed"

// tellMissed tells every other server that it may have missed events of this one.
func (b *Bridge) tellMissed() {
	if err := b.nc.Publish(feedSubjects+missedToken, nil); err != nil {
		b.log.Warn("telling other servers that they may have missed events failed", "err", err)
	}
}

// Publish tells every other server of an event. See stream.Transport.
func (b *Bridge) Publish(topic string, event []byte) {
	if err := b.nc.Publish(feedSubjects+token(topic), event); err != nil {
		b.log.Warn("telling other servers of an event failed", "err", err)
	}
}

// Subscribe calls receive with the events of other servers. See stream.Transport.
func (b *Bridge) Subscribe(receive func(topic string, event []byte), missed func()) (stop func(), err error) {
	messages := make(chan *nats.Msg, feedBuffer)
	sub, err := b.nc.ChanSubscribe(feedSubjects+"*", messages)
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	resync := make(chan struct{}, 1)
	unhook := b.onResync(func(of *nats.Subscription) {
		if of == nil || of == sub {
			select {
			case resync <- struct{}{}:
			default: // It has still to be told of an earlier one.
			}
		}
	})
	ending, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		settled := time.NewTimer(settle)
		settled.Stop()
		defer settled.Stop()
		for {
			select {
			case msg := <-messages:
				of := strings.TrimPrefix(msg.Subject, feedSubjects)
				if topic, ok := untoken(of); ok {
					receive(topic, msg.Data)
				} else if of == missedToken {
					settled.Reset(settle)
				}
			case <-resync:
				settled.Reset(settle)
			case <-settled.C:
				missed()
			case <-ending:
				return
			}
		}
	}()
	if b.nc.IsConnected() {
		if err := b.nc.FlushTimeout(writeTimeout); err != nil { // Once it returns, NATS knows of the subscription.
			b.log.Warn("subscribing to other servers' events is delayed", "err", err)
		}
	}
	return func() {
		unhook()
		_ = sub.Unsubscribe()
		close(ending)
		<-over
	}, nil
}
