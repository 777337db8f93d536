// Package slack implements channel.Surface for Slack. It converts Slack's events to channel.IncomingEvent, and shows
// answers as messages that grow. It implements Slack's signatures, events, Web API, Markdown, sockets and OAuth.
//
// A streamed message only grows, because Slack's streams accept nothing but appended text. Render therefore withholds
// ambiguous text, and an append is the difference of two renderings. Without streams, each update would send the whole
// text, once a second at most, and the message would not have Slack's own stop button. The model's Markdown is not sent
// unchanged: Slack interprets its own control sequences in it, which can mention people. Tables are code and not
// Slack's table blocks: streams do not accept these, older clients do not show them, and a message can have only one. A
// streamed message has no metadata, so after a crash it is found by the beginning of its text.
//
// It imports channel, chat, datasource, identity (for the keys of id tokens), japan, runes and fault, and slack-go for
// the Web API. It does not use the database. Package api receives the requests and passes their bodies to this package, and
// package channel stores the events.
package slack

import (
	"cmp"
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
	APIURL string // URL of the Web API. apiURL, except for tests.
}

// Adapter is the surface of Slack, for all installations.
type Adapter struct {
	config    Config
	api       *url.URL
	http      *http.Client          // For API calls.
	downloads *http.Client          // For files; the context is the only time limit.
	names     *cache[string]        // By person of an installation.
	keys      *identity.RemoteKeys  // Keys that verify Slack's id tokens.
	stops     *cache[bool]          // By place: Slack shows its own button to stop an answer.
	places    *cache[channel.Place] // By place.
	started   *cache[string]        // By message: its answer and part. Only messages begun by this server.
	ended     *cache[bool]          // By message: it was not streamed, or its stream has ended.
}

// New returns the surface of Slack.
func New(config Config, log *slog.Logger) (*Adapter, error) {
	config.APIURL = cmp.Or(config.APIURL, apiURL)
	if !strings.HasSuffix(config.APIURL, "/") {
		config.APIURL += "/"
	}
	api, err := url.Parse(config.APIURL)
	if err != nil || api.Host == "" {
		return nil, fmt.Errorf("slack: the address of the API is none: %q", config.APIURL)
	}
	a := &Adapter{
		config: config, api: api,
		names: newCache[string](10 * time.Minute),
		stops: newCache[bool](10 * time.Minute), places: newCache[channel.Place](time.Minute),
		started: newCache[string](time.Hour),
		ended:   newCache[bool](time.Hour),
	}
	a.http, a.downloads = a.newHTTP(callTimeout), a.newHTTP(0)
	a.keys = identity.NewRemoteKeys(a.site("/openid/connect/keys", nil), a.http, time.Now, log)
	return a, nil
}

// Traits implements channel.Surface. Slack accepts 12,000 characters of Markdown in a message. The limit for drafts is
// lower, because escaping and aligned tables make the text longer.
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
