package oauth

import (
	"context"
	"crypto/rand"
	"math/big"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
)

// DeviceCode is the response to a device authorization request (RFC 8628, section 3.2).
type DeviceCode struct {
	DeviceCode, UserCode                     string
	VerificationURI, VerificationURIComplete string
	ExpiresIn, Interval                      time.Duration
}

// DeviceRequest is a device that waits for a person's answer.
type DeviceRequest struct {
	Client Client
	Grant  Grant
}

// User codes are eight letters that cannot spell words or be confused with each other: 34 bits. Package api limits the
// number of guesses. See RFC 8628, section 6.1.
const (
	userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	userCodeLength  = 8
)

// BeginDevice begins a connection that a person confirms on another device.
func (s *Service) BeginDevice(ctx context.Context, clientID, scope string, origin Origin) (DeviceCode, error) {
	client, known := s.client(clientID)
	if !known {
		return DeviceCode{}, errUnknownClient()
	}
	scopes, err := scopesOf(client, scope)
	if err != nil {
		return DeviceCode{}, err
	}
	code, hash := opaque.New()
	user := newUserCode()
	now := s.cfg.Now()
	grant := Grant{
		Hash: hash, UserCodeHash: opaque.Hash(user), ClientID: client.ID, Scopes: scopes, UserAgent: origin.UserAgent,
		CreatedAt: now, ExpiresAt: now.Add(deviceLifetime), PollInterval: int(PollInterval / time.Second),
	}
	if origin.Address.IsValid() {
		grant.Address = &origin.Address
	}
	if err := s.store.AddGrant(ctx, grant); err != nil {
		return DeviceCode{}, err
	}
	shown := user[:userCodeLength/2] + "-" + user[userCodeLength/2:]
	page := s.cfg.PublicURL + "/oauth/device"
	return DeviceCode{
		DeviceCode: code, UserCode: shown, VerificationURI: page, VerificationURIComplete: page + "?user_code=" + shown,
		ExpiresIn: deviceLifetime, Interval: PollInterval,
	}, nil
}

// Device returns the request of the device with a user code, or ErrNoDevice.
func (s *Service) Device(ctx context.Context, userCode string) (DeviceRequest, error) {
	hash, ok := hashUserCode(userCode)
	if !ok {
		return DeviceRequest{}, ErrNoDevice
	}
	grant, err := s.store.GrantByUserCode(ctx, hash)
	if err != nil {
		return DeviceRequest{}, err
	}
	client, known := s.client(grant.ClientID)
	if !known {
		return DeviceRequest{}, ErrNoDevice
	}
	return DeviceRequest{client, grant}, nil
}

// AnswerDevice stores the actor's answer to the device with a user code, or returns ErrNoDevice.
func (s *Service) AnswerDevice(ctx context.Context, actor identity.Actor, userCode string, allow bool) error {
	hash, ok := hashUserCode(userCode)
	if !ok {
		return ErrNoDevice
	}
	return s.store.AnswerGrant(ctx, actor, hash, !allow)
}

func newUserCode() string {
	code := make([]byte, userCodeLength)
	for i := range code {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(userCodeLetters))))
		if err != nil {
			panic(err) // Never: crypto/rand crashes the program instead.
		}
		code[i] = userCodeLetters[n.Int64()]
	}
	return string(code)
}

// hashUserCode returns the hash of a user code as typed by a person: in either case, with or without the hyphen.
func hashUserCode(typed string) (hash []byte, ok bool) {
	code := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(typed))
	if len(code) != userCodeLength || strings.Trim(code, userCodeLetters) != "" {
		return nil, false
	}
	return opaque.Hash(code), true
}

// poll handles a poll of a device (RFC 8628, section 3.5).
func (s *Service) poll(g *Grant) error {
	now := s.cfg.Now()
	switch {
	case !now.Before(g.ExpiresAt):
		return fault.Errorf(ExpiredToken, "the device code has expired")
	case g.PolledAt != nil && now.Sub(*g.PolledAt) < time.Duration(g.PollInterval)*time.Second-pollLeeway:
		g.PolledAt = &now
		g.PollInterval += int(PollInterval / time.Second)
		return fault.Errorf(SlowDown, "the interval between two polls is now %d seconds", g.PollInterval)
	}
	g.PolledAt = &now
	switch {
	case g.AnsweredAt == nil:
		return fault.Errorf(AuthorizationPending, "nobody has answered yet")
	case g.Denied:
		g.UsedAt = &now
		return fault.Errorf(AccessDenied, "the request was denied")
	}
	return nil
}

// pollLeeway is the tolerance for early polls: the previous request may have had a longer transmission time.
const pollLeeway = 500 * time.Millisecond
