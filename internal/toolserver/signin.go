package toolserver

import (
	"context"
	"net/http"
	"sync"

	"golang.org/x/oauth2"
)

// signIn has the access token of a person during one exchange with a server. It implements auth.OAuthHandler: the SDK
// sends a refused message again, once, if Authorize succeeds. This cannot make a tool run twice: a server does not run a
// request that it answers with 401 (RFC 9110, section 15.5.2).
type signIn struct {
	renew func(context.Context) (string, error) // Returns another token. It is called at most once.
	fail  func(error)                           // Receives the failure of renew.

	mu      sync.Mutex // Held during renew, so that concurrent messages use its result.
	token   string     // Guarded by mu.
	renewed bool       // Guarded by mu. renew has been called.
	err     error      // Guarded by mu. Of renew.
}

// TokenSource returns the token for the next message.
func (s *signIn) TokenSource(context.Context) (oauth2.TokenSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: s.token}), s.err
}

// Authorize renews the token of a message that the server has refused, unless another message has renewed it.
func (s *signIn) Authorize(ctx context.Context, r *http.Request, response *http.Response) error {
	_ = response.Body.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case response.StatusCode != http.StatusUnauthorized:
		return errRights
	case r.Header.Get("Authorization") != "Bearer "+s.token:
	case s.renewed:
		return errSignIn
	default:
		s.renewed = true
		if s.token, s.err = s.renew(ctx); s.err != nil {
			s.fail(s.err)
		}
	}
	return s.err
}
