// Package slack is the surface of Slack: its events become what package channel takes in, and answers become messages
// that grow. It knows Slack's signatures, events, Web API, Markdown, sockets and OAuth.
//
// It imports channel, chat, datasource, identity (for the keys of id tokens) and fault, and slack-go for the Web API.
// It knows neither the database nor the routes: package api receives the requests and passes their bodies on, and
// channel stores what is to be kept.
package slack

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Config configures the connection to Slack.
type Config struct {
	APIURL string // APIURL; another one for a workspace of tests.
}

// Adapter is the surface of Slack, for all installations.
type Adapter struct {
	config    Config
	api       *url.URL
	http      *http.Client // For calls.
	downloads *http.Client // For files: as long as the context lasts.
	people    *people
	keys      *identity.RemoteKeys // That sign Slack's id tokens.
	stops     *cache[bool]         // By place: whether Slack shows its own button to stop an answer.
	shared    *cache[bool]         // By place: the channel is shared with another company.
	begun     *cache[string]       // By message: which part of which answer it is, of those begun here.
	ended     *cache[bool]         // By message: it is not streamed, or not any more.
}

// New returns the surface of Slack.
func New(config Config, log *slog.Logger) (*Adapter, error) {
	if config.APIURL == "" {
		config.APIURL = APIURL
	}
	if !strings.HasSuffix(config.APIURL, "/") {
		config.APIURL += "/"
	}
	api, err := url.Parse(config.APIURL)
	if err != nil || api.Host == "" {
		return nil, fmt.Errorf("slack: the address of the API is none: %q", config.APIURL)
	}
	a := &Adapter{
		config: config, api: api,
		stops: newCache[bool](10_000, 10*time.Minute), shared: newCache[bool](10_000, time.Minute),
		begun: newCache[string](10_000, time.Hour),
		ended: newCache[bool](10_000, time.Hour),
	}
	a.http, a.downloads = a.newHTTP(callTimeout), a.newHTTP(0)
	a.keys = identity.NewRemoteKeys(a.site("/openid/connect/keys", nil), a.http, time.Now, log)
	a.people = &people{names: newCache[string](10_000, 10*time.Minute)}
	return a, nil
}

// Traits implements channel.Surface. Slack takes 12,000 characters of Markdown in a message; escaping and the alignment
// of tables make it longer.
func (a *Adapter) Traits() channel.Traits {
	return channel.Traits{
		CanAppend: true, CanReplace: true, MinInterval: time.Second, MaxCharacters: 10_000, MaxMessages: 5,
		AppendLifetime: 4*time.Minute + 30*time.Second,
	}
}

// Close ends idle connections.
func (a *Adapter) Close() {
	a.http.CloseIdleConnections()
	a.downloads.CloseIdleConnections()
}
