package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// JetStream error codes without a name in the client.
const (
	codeNoPeers      jetstream.ErrorCode = 10005 // Fewer servers than replicas.
	codeNotClustered jetstream.ErrorCode = 10074 // Replicas requested of a server without a cluster.
)

const (
	replicas   = 3 // For the stream, if there are enough servers. It then survives the loss of one.
	setupPause = 200 * time.Millisecond
	setupCall  = 3 * time.Second
)

// begin waits for the connection and creates the stream, retrying until it has a leader.
func (b *Bridge) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.ConnectTimeout)
	defer cancel()
	for {
		err := b.ensure(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(setupPause):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// ensure creates the stream of texts, or updates an existing one.
func (b *Bridge) ensure(ctx context.Context) error {
	if !b.nc.IsConnected() {
		return errDisconnected
	}
	ctx, cancel := context.WithTimeout(ctx, setupCall)
	defer cancel()
	err := b.makeStream(ctx, replicas)
	if tooFewServers(err) {
		// With fewer servers, replication would only cause more outages of the stream.
		err = b.makeStream(ctx, 1)
	}
	if err != nil {
		return err
	}
	return b.awaitLeader(ctx)
}

func (b *Bridge) makeStream(ctx context.Context, copies int) error {
	cfg := jetstream.StreamConfig{
		Name: StreamName, Subjects: []string{textSubjects + "*"}, Description: "texts that are being written",
		Storage: jetstream.MemoryStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxAge: b.cfg.MaxAge, MaxBytes: b.cfg.MaxBytes, Replicas: copies,
	}
	existing, err := b.js.Stream(ctx, StreamName)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		_, err = b.js.CreateStream(ctx, cfg)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil // Another server created it first.
		}
		return err
	case err != nil:
		return err
	}
	is := existing.CachedInfo().Config
	cfg.Replicas = max(is.Replicas, copies)
	if is.Replicas == cfg.Replicas && is.MaxAge == cfg.MaxAge && is.MaxBytes == cfg.MaxBytes {
		return nil
	}
	if _, err = b.js.UpdateStream(ctx, cfg); err != nil {
		if tooFewServers(err) {
			return err
		}
		b.log.Warn("bridge: settings of the stream of texts differ from this server's", "err", err)
	}
	return nil
}

// awaitLeader returns when the stream accepts entries.
func (b *Bridge) awaitLeader(ctx context.Context) error {
	for {
		s, err := b.js.Stream(ctx, StreamName)
		if err != nil {
			return err
		}
		// A single server reports no cluster.
		if c := s.CachedInfo().Cluster; c == nil || c.Leader != "" {
			return nil
		}
		select {
		case <-time.After(setupPause / 4):
		case <-ctx.Done():
			return fmt.Errorf("the stream of texts has no leader: %w", ctx.Err())
		}
	}
}

// restore creates the stream again if an error shows that it no longer exists, as after the restart of a single server.
// Only one caller creates it.
func (b *Bridge) restore(ctx context.Context, err error) {
	gone := errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse)
	if !gone || !b.making.TryLock() {
		return
	}
	defer b.making.Unlock()
	if err := b.ensure(ctx); err != nil {
		b.log.Warn("bridge: creating the stream of texts failed", "err", err)
	}
}

func tooFewServers(err error) bool {
	code := errorCode(err)
	return code == codeNoPeers || code == codeNotClustered
}

// errorCode returns JetStream's code of an error, or 0.
func errorCode(err error) jetstream.ErrorCode {
	var apiErr *jetstream.APIError
	if errors.As(err, &apiErr) {
		return apiErr.ErrorCode
	}
	var jsErr jetstream.JetStreamError
	if errors.As(err, &jsErr) && jsErr.APIError() != nil {
		return jsErr.APIError().ErrorCode
	}
	return 0
}
