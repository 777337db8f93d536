package tsumugi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// renewAfter is the age at which a token is replaced. Tokens are valid for an hour.
const renewAfter = 30 * time.Minute

// Password returns a source of tokens for a user who signs in with a password, at the server's embedded user pool or at
// AWS Cognito. It reuses a token for half an hour. If httpClient is nil, it uses http.DefaultClient.
func Password(server, email, password string, httpClient *http.Client) TokenSource {
	s := &signIn{client: Client{URL: server, HTTP: httpClient}, email: email, password: password}
	return s.token
}

type signIn struct {
	client          Client
	email, password string

	mu    sync.Mutex
	last  string    // Guarded by mu.
	since time.Time // Guarded by mu.
}

func (s *signIn) token(ctx context.Context, expired bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The token is fresh, or a concurrent call has just replaced it.
	if age := time.Since(s.since); s.last != "" && age < renewAfter && (!expired || age < time.Second) {
		return s.last, nil
	}
	var way struct {
		ClientID string `json:"client_id"`
		Endpoint string `json:"endpoint"`
	}
	err := s.client.Call(ctx, http.MethodPost, "/v1/auth-type", map[string]string{"email": s.email}, &way)
	if err != nil {
		return "", err
	}
	pool, err := s.pool(way.Endpoint)
	if err != nil {
		return "", err
	}
	var answer struct {
		AuthenticationResult struct{ IdToken string } //nolint:revive // Name of the protocol.
		ChallengeName        string
	}
	body := map[string]any{
		"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": way.ClientID,
		"AuthParameters": map[string]string{"USERNAME": s.email, "PASSWORD": s.password},
	}
	header := http.Header{
		"Content-Type": {"application/x-amz-json-1.1"},
		"X-Amz-Target": {"AWSCognitoIdentityProviderService.InitiateAuth"},
	}
	err = s.client.call(ctx, http.MethodPost, pool, body, header, &answer)
	if err == nil && answer.AuthenticationResult.IdToken == "" {
		err = fmt.Errorf("the account needs more than a password to sign in (%s): use a personal access token",
			answer.ChallengeName)
	}
	if err != nil {
		return "", err
	}
	s.last, s.since = answer.AuthenticationResult.IdToken, time.Now()
	return s.last, nil
}

// pool returns the URL of the user pool. endpoint may be relative to the server's URL.
func (s *signIn) pool(endpoint string) (string, error) {
	server, err := url.Parse(s.client.URL)
	if err != nil {
		return "", err
	}
	pool, err := server.Parse(endpoint)
	if err != nil {
		return "", err
	}
	return pool.String(), nil
}
