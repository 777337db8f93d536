package slack_test

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	client "github.com/slack-go/slack"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(m) }

// open starts a workspace with the demonstration's configuration after change, and a client with the bot's token.
func open(t *testing.T, change func(*slack.Config)) (*slack.Workspace, *client.Client) {
	t.Helper()
	config := slack.Demo()
	at := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	config.Now = func() time.Time { return at } // Only Advance moves the clock.
	if change != nil {
		change(&config)
	}
	workspace := slack.New(config)
	server := httptest.NewServer(workspace)
	workspace.SetURL(server.URL)
	t.Cleanup(server.Close)
	t.Cleanup(workspace.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	api := client.New(slack.DemoToken, client.OptionAPIURL(server.URL+"/api/"),
		client.OptionAppLevelToken(slack.DemoSocket), client.OptionHTTPClient(&http.Client{Transport: transport}))
	return workspace, api
}

// await fails the test unless done reports true in time.
func await(t *testing.T, workspace *slack.Workspace, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := workspace.Await(ctx, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func valueOf[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		must.Succeed(t, err)
		return value
	}
}

func refused(t *testing.T, err error, code string) {
	t.Helper()
	if err == nil || err.Error() != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func publicKey(n, e string) (*rsa.PublicKey, error) {
	modulus, err := base64.RawURLEncoding.DecodeString(n)
	if err != nil {
		return nil, err
	}
	exponent, err := base64.RawURLEncoding.DecodeString(e)
	return &rsa.PublicKey{N: new(big.Int).SetBytes(modulus), E: int(new(big.Int).SetBytes(exponent).Int64())}, err
}
