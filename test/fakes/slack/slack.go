// Package slack is a fake Slack workspace: the Web API, OAuth and OpenID, signed events with their retries,
// interactions, commands, Socket Mode, rate tiers, text limits and the lifetime of streams. A test can move its clock
// and inject faults. It serves a page on which people can use it like a channel. It behaves as Slack's documentation
// describes; test/fakes/slack/check tests it with Slack's own clients. It imports the standard library, a WebSocket
// library and a JWT library.
//
// A workspace at Slack cannot fail after a call took effect, move its clock or show who was notified. A fake that
// imported the product or slack-go would contain the same mistakes. slacktest of slack-go has no streams, OAuth,
// signatures, retries or faults. Where Slack's documentation is silent, this fake behaves in the way that is harder for
// the product: control sequences notify in code too, and a bot receives the events that it caused. It does not follow
// changes of Slack; updates of Slack's clients in test/fakes/slack/check reveal them.
//
//	workspace := slack.New(slack.Demo())
//	defer workspace.Close()
//	server := httptest.NewServer(workspace)
//	workspace.SetURL(server.URL) // The Web API is at server.URL + "/api/".
package slack

import (
	"context"
	"crypto/rsa"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Config is the initial content of a workspace; see Demo.
type Config struct {
	Now   func() time.Time // Returns the time; time.Now if nil. Advance adds to it.
	URL   string           // The workspace's own address, without a trailing slash; SetURL sets it later.
	Apps  []App
	Teams []Team
	Tiers bool // Whether calls beyond Slack's rate tiers are refused.
	// Retries are the pauses before repeated deliveries of an event. Default: none, one minute, five minutes.
	Retries []time.Duration
	// Timeout bounds a delivery in real time. Default 3 s.
	Timeout time.Duration
	// Lifetime bounds a stream. Default five minutes.
	Lifetime time.Duration
}

// App is the configuration of an app at Slack.
type App struct {
	ID, Name       string
	ClientID       string
	ClientSecret   string
	SigningSecret  string
	AppToken       string // Begins with xapp-.
	EventURL       string
	InteractionURL string
	CommandURL     string
	RedirectURLs   []string // Prefixes of allowed addresses; all are allowed if empty.
	Events         []string // Subscribed bot events, such as app_mention or message.channels; all if nil.
	Commands       []Command
	Shortcuts      []Shortcut
	SocketMode     bool // Deliver over WebSocket instead of HTTP.
}

// Connect sets the app's addresses for events, interactions and commands to those of a Tsumugi server.
func (a *App) Connect(server string) {
	base := strings.TrimSuffix(server, "/") + "/external/slack/v1/"
	a.EventURL, a.InteractionURL, a.CommandURL = base+"event", base+"interaction", base+"command"
}

// Command is a slash command.
type Command struct{ Name, Description string }

// Shortcut is an entry in the menu of a message.
type Shortcut struct{ CallbackID, Name string }

// Team is a workspace at Slack.
type Team struct {
	ID, Name, Domain             string
	EnterpriseID, EnterpriseName string
	People                       []Person
	Channels                     []Channel
	Installs                     []Install
}

// Install is an app installed in a team.
type Install struct {
	AppID  string
	Token  string // Begins with xoxb-.
	UserID string // The user id of the bot.
	BotID  string
	Scopes []string // DefaultScopes if nil.
}

// Person is an account in a team.
type Person struct {
	ID, Name, RealName, Email     string
	EmailConfirmed                bool
	Restricted, UltraRestricted   bool // A guest of several channels; a guest of one channel.
	Bot, Deleted, Admin, Stranger bool // Stranger: known only by a shared channel.
	Locale                        string
	teamID, appID, botID          string
}

// Channel is a channel of a team.
type Channel struct {
	ID, Name   string
	Private    bool
	Archived   bool
	SharedWith []string // Teams of other companies, by id.
	Members    []string // People and bots; the whole team in a public channel if nil.
	teamID     string
	direct     string // The person of a direct message with a bot. The bot is Members[1].
}

// DefaultScopes are the scopes of an installation without explicit scopes.
func DefaultScopes() []string {
	return []string{
		"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands",
		"files:read", "files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write",
		"mpim:history", "mpim:read", "reactions:write", "team:read", "users:read", "users:read.email",
	}
}

type installation struct {
	Install
	app  *App
	team *Team
}

// grant is the permission of a person's token: signing in, or the scopes that an installer granted.
type grant struct {
	app    *App
	person *Person
	scopes []string
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
	version  int
	ids      int64
	lastTS   int64
	apps     map[string]*App
	teams    map[string]*Team
	people   map[string]*Person
	channels map[string]*Channel
	order    []string                 // Channels, in the order of their creation.
	messages map[string][]*Message    // By channel, in order of time.
	installs map[string]*installation // By token.
	grants   map[string]*grant        // By token.
	revoked  map[string]bool          // Tokens.
	codes    map[string]*code
	files    map[string]*File
	views    map[string]*View // By id.
	homes    map[string]*View // By app and person.
	sessions map[string]*Session
	triggers map[string]trigger
	replies  map[string]*replyAddress
	faults   []*Fault
	events   []*Event
	calls    []Call
	counted  map[string][]time.Time // Calls of the last minute, by method and installation.
	sockets  []*socket
	tickets  map[string]string // Socket Mode: apps by ticket.
	failing  []EventFault
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
	if config.Timeout == 0 {
		config.Timeout = 3 * time.Second
	}
	if config.Lifetime == 0 {
		config.Lifetime = 5 * time.Minute
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Workspace{
		config: config, clock: &clock{base: config.Now, moved: make(chan struct{})}, url: config.URL,
		ctx: ctx, cancel: cancel, changed: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second}},
		apps:   map[string]*App{}, teams: map[string]*Team{}, people: map[string]*Person{},
		channels: map[string]*Channel{}, messages: map[string][]*Message{}, installs: map[string]*installation{},
		grants: map[string]*grant{}, revoked: map[string]bool{}, codes: map[string]*code{}, files: map[string]*File{},
		views: map[string]*View{}, homes: map[string]*View{}, sessions: map[string]*Session{},
		triggers: map[string]trigger{}, replies: map[string]*replyAddress{}, counted: map[string][]time.Time{},
		tickets: map[string]string{},
		ids:     config.Now().UnixMilli(), // A restarted workspace uses different ids.
	}
	for _, app := range config.Apps {
		w.apps[app.ID] = &app
	}
	for _, team := range config.Teams {
		w.addTeam(team)
	}
	w.mux = w.routes()
	return w
}

func (w *Workspace) addTeam(team Team) {
	w.teams[team.ID] = &team
	for _, person := range team.People {
		person.teamID = team.ID
		w.people[person.ID] = &person
	}
	for _, install := range team.Installs {
		w.install(&team, install)
	}
	for _, channel := range team.Channels {
		channel.teamID = team.ID
		w.addChannel(&channel)
	}
}

// install adds an app's bot to a team. The caller holds w.mu, or the workspace is not yet in use.
func (w *Workspace) install(team *Team, install Install) *installation {
	if install.Scopes == nil {
		install.Scopes = DefaultScopes()
	}
	app := w.apps[install.AppID]
	in := &installation{Install: install, app: app, team: team}
	w.installs[install.Token] = in
	w.people[install.UserID] = &Person{
		ID: install.UserID, Name: app.Name, RealName: app.Name, Bot: true, teamID: team.ID,
		appID: app.ID, botID: install.BotID,
	}
	return in
}

func (w *Workspace) addChannel(channel *Channel) {
	w.channels[channel.ID] = channel
	w.order = append(w.order, channel.ID)
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

// Configure changes the configuration of an app, such as addresses, subscribed events and Socket Mode.
func (w *Workspace) Configure(appID string, change func(*App)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w.apps[appID])
	w.touch()
}

// Change changes a person, for example to a deleted account, a guest or another mail address.
func (w *Workspace) Change(personID string, change func(*Person)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w.people[personID])
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
	mux.HandleFunc("GET /oauth/v2/authorize", w.serveAuthorize)
	mux.HandleFunc("POST /oauth/v2/authorize", w.serveDecision)
	mux.HandleFunc("GET /openid/connect/authorize", w.serveAuthorize)
	mux.HandleFunc("POST /openid/connect/authorize", w.serveDecision)
	mux.HandleFunc("GET /openid/connect/keys", w.serveKeys)
	mux.HandleFunc("GET /.well-known/openid-configuration", w.serveDiscovery)
	mux.HandleFunc("GET /link", w.serveSocket)
	w.pageRoutes(mux)
	return mux
}
