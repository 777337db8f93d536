package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	// Minimum time between two reads, including failed ones, so that unknown key ids cannot flood the issuer.
	jwksPause   = time.Minute
	jwksMaxAge  = time.Hour       // Maximum age of the keys, because one may have been withdrawn.
	jwksTimeout = 5 * time.Second // For one read.
	maxJWKS     = 64 << 10        // In bytes. AWS's are about 1 KB.
)

// RemoteKeys are the public keys of a remote issuer. They are read from its JWKS at first use, so that the server
// starts even if the issuer is unreachable. They are read again after an hour and, at most once a minute, for a token
// with an unknown key. RemoteKeys is safe for concurrent use.
type RemoteKeys struct {
	url    string
	client *http.Client
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	keys    jwt.Keyfunc   // Guarded by mu. From the last successful read; nil before it.
	readAt  time.Time     // Guarded by mu. When the last successful read ended.
	askedAt time.Time     // Guarded by mu. When the last read began.
	failed  bool          // Guarded by mu. The last read failed.
	reading chan struct{} // Guarded by mu. Closed when the read in progress ends; nil without one.
}

// NewRemoteKeys returns the keys at the URL of a JWKS. It does not read them. now returns the current time.
func NewRemoteKeys(url string, client *http.Client, now func() time.Time, log *slog.Logger) *RemoteKeys {
	return &RemoteKeys{url: url, client: client, now: now, log: log}
}

var (
	errNoKeyNamed = errors.New("identity: the token names no key")
	errNoKeys     = errors.New("identity: no keys have been read yet")
)

// Keyfunc returns a function that finds the key named by a token's header. Only kid counts: keys embedded in a header
// are ignored.
func (k *RemoteKeys) Keyfunc(ctx context.Context) jwt.Keyfunc {
	return func(token *jwt.Token) (any, error) {
		if id, _ := token.Header["kid"].(string); id == "" {
			return nil, errNoKeyNamed
		}
		key, fresh, err := k.find(token)
		if err == nil && fresh {
			return key, nil
		}
		k.refresh(ctx)
		key, _, err = k.find(token)
		return key, err
	}
}

// find returns a token's key from the cached keys. fresh reports whether they were read within the last hour.
func (k *RemoteKeys) find(token *jwt.Token) (key any, fresh bool, err error) {
	k.mu.Lock()
	keys, failed := k.keys, k.failed
	fresh = k.now().Sub(k.readAt) < jwksMaxAge
	k.mu.Unlock()
	err = errNoKeys
	if keys != nil {
		key, err = keys(token)
	}
	if err != nil && (keys == nil || failed) { // The unknown key may be a new key of the issuer.
		err = fault.Wrap(err, fault.Unavailable, "ログインの確認に必要な情報を取得できません。少し時間をおいて、もう一度お試しください。")
	}
	return key, fresh, err
}

// refresh reads the keys, or waits for a read in progress. It does nothing within jwksPause of the last read.
func (k *RemoteKeys) refresh(ctx context.Context) {
	k.mu.Lock()
	reading, asked := k.reading, k.now()
	due := k.askedAt.IsZero() || asked.Sub(k.askedAt) >= jwksPause
	done := make(chan struct{})
	if reading == nil && due {
		k.reading, k.askedAt = done, asked
	}
	k.mu.Unlock()
	switch {
	case reading != nil:
		select {
		case <-reading:
		case <-ctx.Done():
		}
	case due:
		keys, err := k.read(ctx)
		if err != nil {
			k.log.WarnContext(ctx, "identity: reading the provider's keys failed, using cached keys",
				"url", k.url, "err", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.failed = err != nil; !k.failed {
			k.keys, k.readAt = keys, k.now()
		}
		k.reading = nil
		close(done)
	}
}

// Check reads the keys, without keeping them, and returns the error.
func (k *RemoteKeys) Check(ctx context.Context) error {
	_, err := k.read(ctx)
	return err
}

// read fetches the JWKS.
func (k *RemoteKeys) read(ctx context.Context) (jwt.Keyfunc, error) {
	// Other requests wait for this read, so the request that started it must not cancel it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), jwksTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxJWKS+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxJWKS {
		return nil, errors.New("the answer is too large")
	}
	keys, err := keyfunc.NewJWKSetJSON(json.RawMessage(body))
	if err != nil {
		return nil, err
	}
	return keys.Keyfunc, nil
}
