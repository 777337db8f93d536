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

// settle is the delay after a reconnection before subscribers are notified of missed events. Until then, nodes that do
// not know the new subscription may still drop events.
const settle = 200 * time.Millisecond

// tokenVersion is the first character of the token of a topic. It changes with the form of the events: servers of
// different releases may be connected during an upgrade.
const tokenVersion = "t"

// token encodes any string as one token of a subject.
func token(s string) string { return tokenVersion + base64.RawURLEncoding.EncodeToString([]byte(s)) }

// untoken returns the topic of a token. ok is false for a token of another version.
func untoken(t string) (topic string, ok bool) {
	encoded, ok := strings.CutPrefix(t, tokenVersion)
	s, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(s), ok && err == nil
}

// missedToken replaces a topic in the announcement that other servers may have missed events of this one: those in
// transit when it lost its connection. No topic's token begins like it.
const missedToken = "missed"

// publishMissed notifies the other servers that they may have missed events of this one.
func (b *Bridge) publishMissed() {
	if err := b.nc.Publish(feedSubjects+missedToken, nil); err != nil {
		b.log.Warn("bridge: notifying other servers of missed events failed", "err", err)
	}
}

func (b *Bridge) Publish(topic string, event []byte) {
	if err := b.nc.Publish(feedSubjects+token(topic), event); err != nil {
		b.log.Warn("bridge: publishing an event failed", "err", err)
	}
}

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
			default: // An earlier notification is pending.
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
				if topic, ok := untoken(strings.TrimPrefix(msg.Subject, feedSubjects)); ok {
					receive(topic, msg.Data)
				} else { // missedToken, or an event that this version does not understand.
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
		if err := b.nc.FlushTimeout(writeTimeout); err != nil { // After it, NATS has registered the subscription.
			b.log.Warn("bridge: subscribing to other servers' events delayed", "err", err)
		}
	}
	return func() {
		unhook()
		_ = sub.Unsubscribe()
		close(ending)
		<-over
	}, nil
}
