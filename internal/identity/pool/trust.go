package pool

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// paramTrust is "true" in a response with a code of the app if the browser shall be trusted. It is an addition to
// Cognito's protocol.
const paramTrust = "TSUMUGI_TRUST_DEVICE"

// metadataAskFactor is "true" in the ClientMetadata of a sign-in that needs the second factor on a trusted device as well.
const metadataAskFactor = "TSUMUGI_ASK_FACTOR"

// trustTime is the lifetime of the trust in a device.
const trustTime = 30 * 24 * time.Hour

// trustKey returns the key of the context's device, or nil. Only a browser's secret identifies a device well enough to
// trust it.
func trustKey(ctx context.Context) []byte {
	origin := originOf(ctx)
	if origin.Device == "" {
		return nil
	}
	return origin.DeviceKey()
}

// trustedSince returns the time since which a user trusts the context's device, or nil.
func (p *Pool) trustedSince(ctx context.Context, user User) (*time.Time, error) {
	key := trustKey(ctx)
	if key == nil {
		return nil, nil
	}
	return p.store.TrustedSince(timeout.Call(ctx), user, key, p.now().Add(-trustTime))
}

// trustDevice makes the context's device a trusted one after a sign-in. It only logs a failure, because the user is
// signed in.
func (p *Pool) trustDevice(ctx context.Context, user User) {
	key := trustKey(ctx)
	if key == nil {
		return
	}
	err := p.store.TrustDevice(timeout.Call(ctx), user, TrustedDevice{
		Key: key, Agent: identity.Agent(originOf(ctx).UserAgent), TrustedAt: p.now(),
	})
	if err != nil {
		p.cfg.Logger.WarnContext(ctx, "pool: device not trusted", "sub", user.Sub, "err", err)
	}
}

// deviceType is the shape DeviceType of the protocol.
type deviceType struct {
	DeviceAttributes            []attribute
	DeviceCreateDate            timestamp
	DeviceKey                   string
	DeviceLastAuthenticatedDate timestamp
	DeviceLastModifiedDate      timestamp
}

// listDevices is the operation ListDevices: the trusted devices of the user of an access token. There are so few that it
// needs no pages.
func (p *Pool) listDevices(ctx context.Context, held GrantUser) (any, error) {
	devices, err := p.store.TrustedDevices(timeout.Call(ctx), held.User, p.now().Add(-trustTime))
	answer := struct{ Devices []deviceType }{[]deviceType{}}
	for _, device := range devices {
		answer.Devices = append(answer.Devices, deviceType{
			[]attribute{{"device_name", device.Agent}},
			timestamp(device.TrustedAt),
			base64.RawURLEncoding.EncodeToString(device.Key), timestamp(device.SeenAt), timestamp(device.TrustedAt),
		})
	}
	return answer, err
}

// forgetDevice is the operation ForgetDevice: the next sign-in on a device needs the second factor again.
func (p *Pool) forgetDevice(ctx context.Context, in *input) (any, error) {
	text := in.text("DeviceKey", rule{required: true, min: 1, max: 55})
	held, err := p.inputHolder(ctx, in)
	if err != nil {
		return nil, err
	}
	key, _ := base64.RawURLEncoding.DecodeString(text) // A malformed key matches no device.
	err = p.store.DistrustDevice(timeout.Call(ctx), held.User.Sub, key)
	return empty{}, refusedIf(err, fault.NotFound,
		&refusal{kind: "ResourceNotFoundException", message: "Device does not exist."})
}
