package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/catalog"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

// config holds every setting of the server. It is read once. An invalid setting makes the start fail with an error
// that names the setting.
type config struct {
	Listen    string `env:"TSUMUGI_LISTEN" default:"127.0.0.1:8080" help:"Address and port to serve the app and the API on."`
	PublicURL string `env:"TSUMUGI_PUBLIC_URL" placeholder:"URL" help:"URL at which people reach the server, for links and tokens. Default: http:// and the address."`
	Data      string `env:"TSUMUGI_DATA" default:"./data" type:"path" help:"Folder for all data that is stored on this machine."`

	Cache string `env:"TSUMUGI_CACHE" type:"path" placeholder:"DIR" help:"Folder for compiled code, which is compiled again when it is missing; several servers may share it. Default: cache/pdfium in the data folder."`

	databaseSettings `embed:""`
	fileSettings     `embed:""`

	Font string `env:"TSUMUGI_FONT" type:"path" placeholder:"FILE" help:"Font with Japanese characters, to read PDF files without embedded fonts. Default: the server searches the system for one."`

	PersonStorage int64 `env:"TSUMUGI_PERSON_STORAGE" default:"5120" placeholder:"MIB" help:"Maximum total size of a person's files, in MiB."`

	NATSURL string `name:"nats-url" env:"NATS_URL" placeholder:"URL" help:"NATS servers with JetStream that join several servers, as nats://host:4222, with commas between. Needs --database-url. Default: this server is alone."`

	cognito   `embed:""`
	mailing   `embed:""`
	searching `embed:""`
	auditing  `embed:""`

	TrustedProxies []netip.Prefix   `env:"TSUMUGI_TRUSTED_PROXIES" placeholder:"CIDR" help:"Networks of proxies whose X-Forwarded-For is trusted, with commas between. Default: none."`
	IdentityHosts  []string         `env:"TSUMUGI_IDENTITY_HOSTS" placeholder:"HOST,…" help:"Host names or IP addresses of the identity providers of organizations that have addresses inside the network, with commas between. Default: none."`
	ToolHosts      []string         `env:"TSUMUGI_TOOL_HOSTS" placeholder:"HOST,…" help:"Host names or IP addresses of the tool servers of organizations, and of their authorization servers, that have addresses inside the network, with commas between. Default: none."`
	Limits         ratelimit.Limits `env:"TSUMUGI_LIMITS" default:"default" placeholder:"KIND=PERSON:ORGANIZATION,…" help:"Limits of people and organizations on this server that differ from the defaults, such as question=120:6000,write=0; 0 means no limit, off means that nothing is allowed."`

	Models string `env:"TSUMUGI_MODELS" type:"path" placeholder:"FILE" help:"File with the providers of models, as docs/models.md describes it, in place of the one provider of the settings OPENAI_*."`

	OpenAIAPIKey        string        `name:"openai-api-key" env:"OPENAI_API_KEY" placeholder:"KEY" help:"Key of the model provider. Without it and a base URL, the offline engine answers."`
	OpenAIBaseURL       string        `name:"openai-base-url" env:"OPENAI_BASE_URL" placeholder:"URL" help:"Any OpenAI-compatible server, for example http://127.0.0.1:11434/v1. Default: OpenAI's."`
	OpenAIModel         string        `name:"openai-model" env:"OPENAI_MODEL" default:"gpt-4o-mini" help:"Model that answers."`
	OpenAIVision        bool          `name:"openai-vision" env:"OPENAI_VISION" help:"The model reads pictures."`
	OpenAIFallbackModel string        `name:"openai-fallback-model" env:"OPENAI_FALLBACK_MODEL" placeholder:"NAME" help:"Model to ask when the first one cannot be reached."`
	EmbeddingModel      string        `name:"openai-embedding-model" env:"OPENAI_EMBEDDING_MODEL" placeholder:"NAME" help:"Model of the same server that turns passages into vectors for search by meaning. Default: search by words only."`
	QueryPrefix         string        `name:"openai-embedding-query-prefix" env:"OPENAI_EMBEDDING_QUERY_PREFIX" placeholder:"TEXT" help:"Prefix that the embedding model expects before a question, such as 'query: '."`
	PassagePrefix       string        `name:"openai-embedding-passage-prefix" env:"OPENAI_EMBEDDING_PASSAGE_PREFIX" placeholder:"TEXT" help:"Prefix that the embedding model expects before a passage, such as 'passage: '."`
	FirstTokenTimeout   time.Duration `name:"openai-first-token-timeout" env:"OPENAI_FIRST_TOKEN_TIMEOUT" default:"60s" placeholder:"TIME" help:"Maximum time until the model's first token; comments of its server extend it to at most five times as long."`
	TokenTimeout        time.Duration `name:"openai-token-timeout" env:"OPENAI_TOKEN_TIMEOUT" default:"30s" placeholder:"TIME" help:"Maximum time between two tokens of the model, including reasoning tokens."`

	ExtensionOrigins []string `env:"TSUMUGI_EXTENSION_ORIGINS" placeholder:"ORIGIN,…" help:"Origins of the browser extensions that may call this server, as chrome-extension://ID, with commas between; none for no extension. By default, the one that this server distributes."`

	ContextTokens int `name:"openai-context-tokens" env:"OPENAI_CONTEXT_TOKENS" default:"32000" placeholder:"N" help:"Maximum number of tokens that the model reads and writes. The server fits data sources and long web pages into it."`

	FastStreams    bool          `env:"TSUMUGI_FAST_STREAMS" default:"true" negatable:"" help:"Send answers over plain HTTP/1.1 without a goroutine for each connection."`
	MaxStreams     int           `env:"TSUMUGI_MAX_STREAMS" default:"20000" placeholder:"N" help:"Streams at once on this server."`
	MaxGenerations int           `env:"TSUMUGI_MAX_GENERATIONS" default:"1000" placeholder:"N" help:"Answers that this server generates at once; as many again wait in a queue."`
	MaxLiveText    int           `env:"TSUMUGI_MAX_LIVE_TEXT" default:"512" placeholder:"MIB" help:"Memory for the texts of answers in progress, in MiB. Above it, no new answers start."`
	Lease          time.Duration `env:"TSUMUGI_LEASE" default:"3s" placeholder:"TIME" help:"Time without a sign of life of a server after which others take over its answers. The same on all servers."`
	OTLPEndpoint   string        `name:"otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"OpenTelemetry collector for traces, by OTLP over HTTP, such as http://127.0.0.1:4318. Default: no traces."`

	TagManagerID string `env:"TSUMUGI_TAG_MANAGER_ID" placeholder:"ID" help:"Google Tag Manager container that the app loads, GTM-… Default: none."`
	LinkNews     string `env:"TSUMUGI_LINK_NEWS" placeholder:"URL" help:"Link ニュース in the header. Default: none."`
	LinkHelp     string `env:"TSUMUGI_LINK_HELP" placeholder:"URL" help:"Link ヘルプ in the header. Default: none."`
	LinkFAQ      string `name:"link-faq" env:"TSUMUGI_LINK_FAQ" placeholder:"URL" help:"Link よくある質問 in the user menu. Default: none."`
	LinkContact  string `env:"TSUMUGI_LINK_CONTACT" placeholder:"URL" help:"Link お問い合わせ in the user menu. Default: none."`
	LinkTerms    string `env:"TSUMUGI_LINK_TERMS" placeholder:"URL" help:"Link 利用規約 in the user menu. Default: none."`

	sealing       `embed:""`
	slackSettings `embed:""`
	Demo          bool   `env:"TSUMUGI_DEMO" default:"true" negatable:"" help:"Make a demo organization with two users on the first start without users."`
	DemoPassword  string `env:"TSUMUGI_DEMO_PASSWORD" placeholder:"PASSWORD" help:"Password of the demo users, for tests and try-outs. Default: random, printed once."`
	Log           string `env:"TSUMUGI_LOG" enum:"text,json" default:"text" help:"Form of the log: text or json."`
}

// extensionOrigin matches the origin of a browser extension.
var extensionOrigin = regexp.MustCompile(`^chrome-extension://[a-p]{32}$`)

// tagManagerID matches a container id. The app uses the id that the server sends.
var tagManagerID = regexp.MustCompile(`^GTM-[A-Z0-9]{4,12}$`)

// Validate is called by kong after parsing.
func (c *config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("--listen (TSUMUGI_LISTEN) %q is no address with a port, such as 127.0.0.1:8080", c.Listen)
	}
	for _, setting := range []struct {
		name, value string
		schemes     []string
	}{
		{"--public-url (TSUMUGI_PUBLIC_URL)", c.PublicURL, []string{"http", "https"}},
		{"--database-url (DATABASE_URL)", c.DatabaseURL, []string{"postgres", "postgresql"}},
		{"--openai-base-url (OPENAI_BASE_URL)", c.OpenAIBaseURL, []string{"http", "https"}},
		{"--otlp-endpoint (OTEL_EXPORTER_OTLP_ENDPOINT)", c.OTLPEndpoint, []string{"http", "https"}},
		{"--link-news (TSUMUGI_LINK_NEWS)", c.LinkNews, []string{"https", "http"}},
		{"--link-help (TSUMUGI_LINK_HELP)", c.LinkHelp, []string{"https", "http"}},
		{"--link-faq (TSUMUGI_LINK_FAQ)", c.LinkFAQ, []string{"https", "http"}},
		{"--link-contact (TSUMUGI_LINK_CONTACT)", c.LinkContact, []string{"https", "http", "mailto"}},
		{"--link-terms (TSUMUGI_LINK_TERMS)", c.LinkTerms, []string{"https", "http"}},
	} {
		if err := checkURL(setting.value, setting.schemes); err != nil {
			return fmt.Errorf("%s %w", setting.name, err)
		}
	}
	for _, check := range []func() error{
		c.checkFiles, c.checkCognito, c.checkMail, c.checkLimits, c.checkSlack, c.checkSearch, c.checkHosts,
		c.checkAuditing,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if len(c.ExtensionOrigins) == 1 && c.ExtensionOrigins[0] == "none" {
		c.ExtensionOrigins = []string{}
	}
	for _, origin := range c.ExtensionOrigins {
		if !extensionOrigin.MatchString(origin) {
			return fmt.Errorf("--extension-origins (TSUMUGI_EXTENSION_ORIGINS) %q is no origin of an extension, "+
				"such as chrome-extension://cjkidhdamnaoejlimfffjaadkpghhaji", origin)
		}
	}
	if c.EmbeddingModel != "" && !c.openAIConnected() {
		return errors.New(
			"--openai-embedding-model (OPENAI_EMBEDDING_MODEL) is a model of a provider: --openai-api-key " +
				"(OPENAI_API_KEY) or --openai-base-url (OPENAI_BASE_URL) is missing",
		)
	}
	if c.TagManagerID != "" && !tagManagerID.MatchString(c.TagManagerID) {
		return fmt.Errorf("--tag-manager-id (TSUMUGI_TAG_MANAGER_ID) %q is no container id, such as GTM-ABC1234",
			c.TagManagerID)
	}
	return nil
}

// checkHosts checks the lists of hosts inside the network, and converts them to lower case.
func (c *config) checkHosts() error {
	for setting, hosts := range map[string][]string{
		"--identity-hosts (TSUMUGI_IDENTITY_HOSTS)": c.IdentityHosts,
		"--tool-hosts (TSUMUGI_TOOL_HOSTS)":         c.ToolHosts,
	} {
		for i, host := range hosts {
			host = strings.ToLower(strings.TrimSpace(host))
			if u, err := url.Parse("https://" + host); (err != nil || u.Host != host || u.Port() != "") &&
				net.ParseIP(host) == nil {
				return fmt.Errorf("%s %q is no host name or IP address without a port", setting, host)
			}
			hosts[i] = host
		}
	}
	return nil
}

// toolClient returns a client for the tool servers of organizations.
func (c *config) toolClient() *toolserver.Connector {
	return toolserver.NewConnector(toolserver.ConnectorConfig{
		Hosts: c.ToolHosts, ProxyResolves: c.ProxyResolves, Version: version,
	})
}

// providerClient returns a client for the identity providers of organizations.
func (c *config) providerClient() *sso.Client {
	return sso.NewClient(sso.ClientConfig{Hosts: c.IdentityHosts, ProxyResolves: c.ProxyResolves})
}

// Bounds of the model's time limits. An answer takes at most half an hour.
const (
	minTokenTimeout = time.Second
	maxTokenTimeout = llm.DefaultMaxDuration
)

// Bounds of the lease. With a shorter lease, servers take over answers from servers that are only busy. A longer lease
// delays takeover.
const (
	minLease = 2 * time.Second
	maxLease = time.Minute
)

// checkLimits checks the settings for several servers and the limits.
func (c *config) checkLimits() error {
	for server := range strings.SplitSeq(c.NATSURL, ",") {
		if err := checkURL(strings.TrimSpace(server), []string{"nats", "tls", "ws", "wss"}); err != nil {
			return fmt.Errorf("--nats-url (NATS_URL) %w", err)
		}
	}
	if c.NATSURL != "" && c.DatabaseURL == "" {
		return errors.New(
			"--nats-url (NATS_URL) joins servers that share a database: --database-url (DATABASE_URL) is missing",
		)
	}
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"--max-streams (TSUMUGI_MAX_STREAMS)", c.MaxStreams},
		{"--max-generations (TSUMUGI_MAX_GENERATIONS)", c.MaxGenerations},
		{"--max-live-text (TSUMUGI_MAX_LIVE_TEXT)", c.MaxLiveText},
		{"--person-storage (TSUMUGI_PERSON_STORAGE)", int(c.PersonStorage)},
	} {
		if limit.value < 1 || limit.value > 1_000_000 {
			return fmt.Errorf("%s must be between 1 and 1000000", limit.name)
		}
	}
	if c.ContextTokens < catalog.MinContext || c.ContextTokens > catalog.MaxContext {
		return fmt.Errorf("--openai-context-tokens (OPENAI_CONTEXT_TOKENS) must be between %d and %d",
			catalog.MinContext, catalog.MaxContext)
	}
	for name, value := range map[string]time.Duration{
		"--openai-first-token-timeout (OPENAI_FIRST_TOKEN_TIMEOUT)": c.FirstTokenTimeout,
		"--openai-token-timeout (OPENAI_TOKEN_TIMEOUT)":             c.TokenTimeout,
	} {
		if value < minTokenTimeout || value > maxTokenTimeout {
			return fmt.Errorf("%s must be between %v and %v", name, minTokenTimeout, maxTokenTimeout)
		}
	}
	if c.Lease < minLease || c.Lease > maxLease {
		return fmt.Errorf("--lease (TSUMUGI_LEASE) must be between %v and %v", minLease, maxLease)
	}
	return nil
}

func checkURL(value string, schemes []string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil {
		return errors.New("is no URL") // The value may contain a password and is not repeated.
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme && (u.Host != "" || u.Opaque != "" || u.RawQuery != "") {
			return nil
		}
	}
	return fmt.Errorf("must be a URL that begins with %s", strings.Join(schemes, ": or ")+":")
}

// publicURL returns the server's public URL, without a trailing slash.
func (c *config) publicURL(listening net.Addr) string {
	if c.PublicURL != "" {
		return strings.TrimRight(c.PublicURL, "/")
	}
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return "http://" + listening.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (c *config) links() api.Links {
	return api.Links{News: c.LinkNews, Help: c.LinkHelp, Faq: c.LinkFAQ, Contact: c.LinkContact, Terms: c.LinkTerms}
}

// modelConnected reports whether a provider is configured. Without one, the offline engine answers.
func (c *config) modelConnected() bool { return c.Models != "" || c.openAIConnected() }

// openAIConnected reports whether the settings OPENAI_* name a provider.
func (c *config) openAIConnected() bool { return c.OpenAIAPIKey != "" || c.OpenAIBaseURL != "" }

// databaseDir returns the folder of the embedded database in a data folder.
func databaseDir(data string) string { return filepath.Join(data, "postgres") }

func (c *config) logger(w io.Writer) *slog.Logger {
	if c.Log == "json" {
		return slog.New(api.NewLogHandler(slog.NewJSONHandler(w, nil)))
	}
	return slog.New(api.NewLogHandler(slog.NewTextHandler(w, nil)))
}

// provider returns the connection settings of the provider, without a model.
func (c *config) provider() llm.Config {
	return llm.Config{
		APIKey: c.OpenAIAPIKey, BaseURL: c.OpenAIBaseURL, FirstTokenTimeout: c.FirstTokenTimeout,
		TokenTimeout: c.TokenTimeout,
	}
}

// embedding returns the configured embedder, or the zero value if no embedding model is configured.
func (c *config) embedding(log *slog.Logger) (datasource.Embedding, error) {
	if c.EmbeddingModel == "" {
		return datasource.Embedding{}, nil
	}
	cfg := c.provider()
	cfg.Model, cfg.Logger = c.EmbeddingModel, log
	embedder, err := llm.NewEmbedder(cfg)
	if err != nil {
		return datasource.Embedding{}, err
	}
	return datasource.Embedding{Embed: embedder.Embed, Model: datasource.EmbeddingModel{
		Name: c.EmbeddingModel, QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix,
	}}, nil
}
