package toolserver

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// maxScope is the maximum length of the scopes that a server may require, in bytes.
const maxScope = 1000

// insufficientScope is errRights because the token lacks scopes.
type insufficientScope struct{ scopes []string }

func (insufficientScope) Error() string { return errRights.Error() }
func (insufficientScope) Unwrap() error { return errRights }

// missingScopes returns the scopes that a request needs if the server has refused it with insufficient_scope (RFC 6750,
// section 3.1), else nil. It returns nil for unusually many or long ones.
func missingScopes(response *http.Response) (scopes []string) {
	challenges, _ := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	for _, c := range challenges {
		if scope := c.Params["scope"]; c.Params["error"] == "insufficient_scope" && len(scope) <= maxScope {
			scopes = append(scopes, strings.Fields(scope)...)
		}
	}
	return scopes
}

// errRefused asks the person to connect again because the server does not accept the token.
func (s *Service) errRefused() error {
	return s.errUnlinked("連携が受け付けられませんでした。もう一度、")
}

// refusal returns an error of an exchange for the person, who connects again if the server does not accept the token.
func (s *Service) refusal(ctx context.Context, owner identity.Owner, server Server, err error) error {
	if server.Auth != AuthOAuth {
		return err
	}
	if missing, ok := errors.AsType[insufficientScope](err); ok {
		return s.requireScopes(ctx, owner, server, missing)
	}
	if errors.Is(err, errSignIn) {
		return s.errRefused()
	}
	return err
}

// requireScopes adds the missing scopes to the scopes that a connection requests. Its error message explains how to
// connect again. If the connection already requested them, it returns errRights.
func (s *Service) requireScopes(
	ctx context.Context, owner identity.Owner, server Server, missing insufficientScope,
) error {
	secrets, err := s.store.ToolSecrets(ctx, server)
	if err != nil {
		return err
	}
	connection, err := s.store.ToolConnection(ctx, owner, server)
	switch a := secrets.OAuth; {
	case err != nil && !errors.Is(err, ErrNotConnected):
		return err
	case a == nil:
		return ErrMoved
	case len(lacking(connection.Scopes, missing.scopes)) == 0:
		return errRights
	case len(lacking(a.Scopes, missing.scopes)) > 0:
		a.Scopes = append(a.Scopes, lacking(a.Scopes, missing.scopes)...)
		if len(strings.Join(a.Scopes, " ")) > maxScope {
			return errRights
		}
		if err := s.store.SetToolAuthorization(ctx, server, *a, nil); err != nil {
			return err
		}
	}
	return s.errUnlinked("この操作には、追加の権限が必要です。もう一度、")
}

// lacking returns the scopes that are not in known, each once.
func lacking(known, scopes []string) (lacks []string) {
	for _, scope := range scopes {
		if !slices.Contains(known, scope) && !slices.Contains(lacks, scope) {
			lacks = append(lacks, scope)
		}
	}
	return lacks
}
