// Package slack is a fake Slack workspace: the methods of the Web API that Tsumugi calls, OAuth and OpenID, signed
// events with their retries, interactions, a command, Socket Mode, rate tiers, text limits and the lifetime of streams.
// Tests can set its clock and inject faults. Its web page shows the channels and sends messages. It imports the
// standard library, a WebSocket library and a JWT library.
//
// It behaves as Slack's documentation describes; test/fakes/slack/check tests it with Slack's own clients, whose
// updates reveal changes of Slack. A fake that imported the product or slack-go would contain the same mistakes. Where
// the documentation is silent, the fake behaves in the way that is harder for the product: control sequences notify in
// code too, and a bot receives the events that it caused.
//
//	workspace := slack.New(slack.Demo())
//	defer workspace.Close()
//	server := httptest.NewServer(workspace)
//	workspace.SetURL(server.URL) // The Web API is at server.URL + "/api/".
package slack

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Config is the initial content of a workspace; see Demo.
type Config struct {
	Now      func() time.Time // Returns the time; time.Now if nil. Advance adds to it.
	App      App
	People   []Person
	Channels []Channel
	Tiers    bool // Whether calls beyond Slack's rate tiers are refused.
	// Retries are the pauses before repeated deliveries of an event. Default: none, one minute, five minutes.
	Retries []time.Duration
	// Timeout bounds a delivery in real time. Default 3 s.
	Timeout time.Duration
}

// App is the configuration of the app at Slack.
type App struct {
	ClientID      string
	ClientSecret  string
	SigningSecret string
	BotToken      string // Begins with xoxb-.
	AppToken      string // Begins with xapp-.
	// Server is the address of the Tsumugi server that receives events, interactions and commands. If it is empty,
	// none are sent.
	Server     string
	Events     []string // Subscribed bot events, such as app_mention or message.channels; all if nil.
	SocketMode bool     // Deliver over WebSocket instead of HTTP.
}

// Person is an account.
type Person struct {
	ID, Name, RealName, Email   string
	Team                        string // Another company in shared channels; empty for this one.
	EmailConfirmed              bool
	Restricted, UltraRestricted bool // A guest of several channels; a guest of one channel.
	Bot, Deleted                bool
}

// Channel is a channel.
type Channel struct {
	ID, Name string
	Private  bool
	Shared   bool     // With the other company.
	Members  []string // People and the bot; everybody in a public channel if nil.
	direct   string   // The person of a direct message with the bot.
}

// defaultScopes returns the scopes of the app in a new workspace.
func defaultScopes() []string {
	return []string{
		"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands",
		"files:read", "files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write",
		"mpim:history", "mpim:read", "users:read", "users:read.email",
	}
}

// Workspace is a running fake. Its methods are safe for concurrent use.
type Workspace struct {
	config Config
	clock  *clock
	mux    *http.ServeMux
	client *http.Client

	ctx    context.Context // Ends with Close; owned by the deliveries and sockets.
	cancel context.CancelFunc
	work   sync.WaitGroup // Deliveries and sockets.

	mu       sync.Mutex // Guards the fields below.
	closed   bool
	url      string
	changed  chan struct{} // Closed and replaced at each change.
	ids      int64
	lastTS   int64
	app      App
	token    string   // The valid bot token; empty while the app is not installed.
	scopes   []string // Of the token.
	revoked  []string // Tokens.
	people   map[string]*Person
	channels []*Channel            // In the order of their creation.
	messages map[string][]*Message // By channel, in order of time.
	codes    map[string]*code
	files    map[string]*File
	homes    map[string]json.RawMessage // Published home tabs, by person.
	sessions map[string]*Session        // By channel and thread.
	replies  map[string]*replyAddress
	faults   []Fault
	copies   map[string]int // Additional deliveries of the next event, by type.
	events   []*Event
	calls    map[string]int         // By method.
	counted  map[string][]time.Time // Calls of the last minute, by method.
	sockets  []*socket
	tickets  map[string]bool // Of Socket Mode.
	key      *rsa.PrivateKey // Signs id tokens; created at first use.
}

// New returns a workspace. The caller must close it.
func New(config Config) *Workspace {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Retries == nil {
		config.Retries = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	config.Timeout = cmp.Or(config.Timeout, 3*time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	w := &Workspace{
		config: config, clock: &clock{base: config.Now, moved: make(chan struct{})},
		ctx: ctx, cancel: cancel, changed: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second}},
		ids:    config.Now().UnixMilli(), // A restarted workspace uses different ids.
		app:    config.App, token: config.App.BotToken, scopes: defaultScopes(),
		people: map[string]*Person{}, messages: map[string][]*Message{}, codes: map[string]*code{},
		files: map[string]*File{}, homes: map[string]json.RawMessage{}, sessions: map[string]*Session{},
		replies: map[string]*replyAddress{}, copies: map[string]int{}, calls: map[string]int{},
		counted: map[string][]time.Time{}, tickets: map[string]bool{},
	}
	for _, person := range append(slices.Clone(config.People), Person{
		ID: DemoBot, Name: appName, RealName: appName, Bot: true,
	}) {
		w.people[person.ID] = &person
	}
	for _, channel := range config.Channels {
		channel.Members = slices.Clone(channel.Members)
		w.channels = append(w.channels, &channel)
	}
	w.mux = w.routes()
	return w
}

// team returns the id of a person's team.
func (p *Person) team() string {
	if p.Team != "" {
		return p.Team
	}
	return DemoTeam
}

// SetURL sets the workspace's own address, the base of upload, response and Socket Mode addresses.
func (w *Workspace) SetURL(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.url = url
}

// URL returns the workspace's own address.
func (w *Workspace) URL() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.url
}

// Configure changes the configuration of the app.
func (w *Workspace) Configure(change func(*App)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.app)
	w.touch()
}

// Close ends deliveries and sockets, and waits for them.
func (w *Workspace) Close() {
	w.mu.Lock()
	w.closed = true // Prevents new work.
	w.mu.Unlock()
	w.cancel()
	w.work.Wait()
	w.client.CloseIdleConnections()
}

// ServeHTTP serves the Web API, OAuth, uploads, Socket Mode and the page.
func (w *Workspace) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	w.mux.ServeHTTP(writer, request)
}

func (w *Workspace) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", w.serveAPI)
	mux.HandleFunc("POST /upload/v1/{file}", w.serveUpload)
	mux.HandleFunc("GET /files-pri/{file}/{name...}", w.serveDownload)
	mux.HandleFunc("POST /response/{id}", w.serveResponse)
	mux.HandleFunc("/oauth/v2/authorize", w.serveAuthorize)
	mux.HandleFunc("/openid/connect/authorize", w.serveAuthorize)
	mux.HandleFunc("GET /openid/connect/keys", w.serveKeys)
	mux.HandleFunc("GET /link", w.serveSocket)
	w.pageRoutes(mux)
	return mux
}
