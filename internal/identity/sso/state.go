package sso

import (
	"context"
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
)

const maxNext = 2048 // In bytes.

// Request is a request to begin a sign-in.
type Request struct {
	OrganizationID uuid.UUID
	Browser        string // The cookie of an earlier sign-in, or "".
	Next           string // Path in the app after the sign-in.
	Reauthenticate bool   // The identity provider asks the person to sign in again.
}

// Redirect is the redirect address of a sign-in, and the new value of the browser's cookie.
type Redirect struct {
	URL     string
	Browser string
}

// NewState returns a new sign-in, without its request id, the value that the response must return, and the value of the
// browser's cookie. browser is the value of an earlier sign-in, or "": concurrent sign-ins in several tabs share it.
// next is the path in the app after the sign-in.
func (s *Service) NewState(organizationID uuid.UUID, browser, next string) (state State, value, cookie string) {
	if !wellFormedSecret(browser) {
		browser, _ = opaque.New()
	}
	value, hash := opaque.New()
	return State{
		Hash: hash, BrowserHash: opaque.Hash(browser), OrganizationID: organizationID, Next: LocalPath(next),
		ExpiresAt: s.Now().Add(StateLifetime),
	}, value, browser
}

// wellFormedSecret reports whether a text has the form of a token of opaque.New.
func wellFormedSecret(secret string) bool {
	decoded, err := base64.RawURLEncoding.DecodeString(secret)
	return err == nil && len(decoded) == 32
}

// CreateState stores a new sign-in.
func (s *Service) CreateState(ctx context.Context, state State) error {
	return s.store.CreateSSOState(ctx, state, s.Now())
}

// TakeState returns the sign-in that a browser began with a value, and deletes it. If it does not exist or has expired,
// the refusal is recorded and the error has the code CodeState.
func (s *Service) TakeState(ctx context.Context, organizationID uuid.UUID, value, browser string, origin Origin) (State,
	error,
) {
	state, err := s.store.TakeSSOState(ctx, organizationID, opaque.Hash(value), opaque.Hash(browser), s.Now())
	if fault.CodeOf(err) == fault.NotFound {
		s.refuse(ctx, Refusal{OrganizationID: organizationID, Code: CodeState, Origin: origin},
			"no sign-in began in this browser, or not lately")
		return State{}, fault.Wrap(err, CodeState,
			"ログインの有効期限が切れたか、別のブラウザーで開始されました。もう一度ログインしてください。")
	}
	return state, err
}

// LocalPath returns a path of the app with its query, or "" for anything that a browser could interpret as another
// origin.
func LocalPath(next string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") {
		return ""
	}
	// Browsers treat \ as / and drop tabs and newlines.
	if strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return ""
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(u.Path, "\\\r\n\t") {
		return ""
	}
	// The app resolves dots and slashes: /home/..//evil would become //evil.
	if clean := path.Clean(u.Path); clean != u.Path && clean+"/" != u.Path {
		return ""
	}
	return next
}
