package bridge

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// feedBuffer is the number of events that may be queued for the receiver.
const feedBuffer = 8192

// settle is the delay after a reconnection before subscribers are told that events were missed: until then, nodes that
// do not know the new subscription yet may still drop events.
const settle = 200 * time.Millisecond

// token encodes any string as one token of a subject.
func token(s string) string { return "t" + base64.RawURLEncoding.EncodeToString([]byte(s)) }

func untoken(t string) (string, bool) {
	encoded, ok := strings.CutPrefix(t, "t")
	s, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(s), ok && err == nil
}

// missedToken takes the place of a topic when a server announces that others may have missed its events: those that
// were in flight when it lost its connection. No topic's token has this prefix.
const missedToken = "missed"

// publishMissed tells the other servers that they may have missed events of this one.
func (b *Bridge) publishMissed() {
	if err := b.nc.Publish(feedSubjects+missedToken, nil); err != nil {
		b.log.Warn("telling other servers about missed events failed", "err", err)
	}
}

// Publish implements stream.Transport.
func (b *Bridge) Publish(topic string, event []byte) {
	if err := b.nc.Publish(feedSubjects+token(topic), event); err != nil {
		b.log.Warn("publishing an event to other servers failed", "err", err)
	}
}

// Subscribe implements stream.Transport.
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
			default: // An earlier notification is still pending.
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
