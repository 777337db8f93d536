package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/store"
)

// slackSettings configure one workspace for the only organization of the server. With several organizations, a
// super-admin of each one sets Slack up in the app.
type slackSettings struct {
	SlackBotToken      string `env:"SLACK_BOT_TOKEN" placeholder:"TOKEN" help:"Bot token of a Slack app, xoxb-…, if the server has one organization. Default: Slack is set up in the app, at /admin/slack."`
	SlackSigningSecret string `env:"SLACK_SIGNING_SECRET" placeholder:"SECRET" help:"Signing secret of that Slack app."`
	SlackAppToken      string `env:"SLACK_APP_TOKEN" placeholder:"TOKEN" help:"App token of that Slack app, xapp-…, for Socket Mode, which works for a server that Slack cannot reach."`
	SlackClientID      string `name:"slack-client-id" env:"SLACK_CLIENT_ID" placeholder:"ID" help:"Client id of that Slack app, with which members link themselves."`
	SlackClientSecret  string `env:"SLACK_CLIENT_SECRET" placeholder:"SECRET" help:"Client secret of that Slack app."`
	SlackAPIURL        string `name:"slack-api-url" env:"SLACK_API_URL" default:"https://slack.com/api/" placeholder:"URL" help:"URL of Slack's API."`
}

// credentials returns the workspace's credentials, or the zero value if they are not configured.
func (c *slackSettings) credentials() channel.Credentials {
	return channel.Credentials{
		BotToken: c.SlackBotToken, SigningSecret: c.SlackSigningSecret, AppToken: c.SlackAppToken,
		ClientID: c.SlackClientID, ClientSecret: c.SlackClientSecret,
	}
}

// checkSlack checks the settings for Slack. Their values are secrets and are not repeated.
func (c *slackSettings) checkSlack() error {
	if err := checkURL(c.SlackAPIURL, []string{"https", "http"}); err != nil {
		return fmt.Errorf("--slack-api-url (SLACK_API_URL) %w", err)
	}
	given := c.credentials()
	switch {
	case given == (channel.Credentials{}):
		return nil
	case given.BotToken == "":
		return errors.New("--slack-bot-token (SLACK_BOT_TOKEN) is missing beside the other settings of the Slack app")
	case !strings.HasPrefix(given.BotToken, "xoxb-"):
		return errors.New("--slack-bot-token (SLACK_BOT_TOKEN) is no bot token, which begins with xoxb-")
	case given.SigningSecret == "" && given.AppToken == "":
		return errors.New("--slack-signing-secret (SLACK_SIGNING_SECRET) or, for Socket Mode, --slack-app-token " +
			"(SLACK_APP_TOKEN) is missing beside SLACK_BOT_TOKEN")
	case given.AppToken != "" && !strings.HasPrefix(given.AppToken, "xapp-"):
		return errors.New("--slack-app-token (SLACK_APP_TOKEN) is no app token, which begins with xapp-")
	case (given.ClientID == "") != (given.ClientSecret == ""):
		return errors.New("--slack-client-id (SLACK_CLIENT_ID) and --slack-client-secret (SLACK_CLIENT_SECRET) " +
			"belong together")
	}
	return nil
}

// slackDomain holds the parts of the Slack integration: installations, links of members, events and answers.
type slackDomain struct {
	adapter  *slack.Adapter
	setup    *workspace.Setup
	links    *workspace.Linker
	channels *channel.Service
	sockets  *slack.Sockets
}

// newSlackSetup returns a slackDomain that connects workspaces and links members, without event delivery. public is the
// server's public URL.
func newSlackSetup(
	settings slackSettings, db *store.DB, public string, sealing bool, log *slog.Logger,
) (*slackDomain, error) {
	adapter, err := slack.New(slack.Config{APIURL: settings.SlackAPIURL}, log)
	if err != nil {
		return nil, fmt.Errorf("--slack-api-url (SLACK_API_URL): %w", err)
	}
	setup := workspace.NewSetup(workspace.SetupConfig{
		Surface: slack.Name, PublicURL: public, Environment: settings.credentials(), HasKey: sealing,
	}, db, adapter, log)
	links := workspace.NewLinker(workspace.LinkerConfig{Surface: slack.Name, PublicURL: public}, db, setup, adapter, log)
	return &slackDomain{adapter: adapter, setup: setup, links: links}, nil
}

// openSlack creates s.slack without starting it.
func (s *server) openSlack(c *serveCommand, db *store.DB, public string, skills *skill.Service) error {
	log := s.log.With("part", "slack")
	domain, err := newSlackSetup(c.slackSettings, db, public, !c.SecretKey.Empty(), log)
	if err != nil {
		return err
	}
	domain.channels = channel.NewService(channel.Deps{
		Store: db, Installations: domain.setup, Links: domain.links,
		Surfaces: map[string]channel.Surface{slack.Name: domain.adapter},
		Chat:     s.chat, Skills: skills, Projects: s.projects, Sources: s.sources, Log: log,
	}, channel.Config{PublicURL: public, Lease: c.Lease})
	s.telemetry.WatchChannels(domain.channels.Stats)
	domain.sockets = slack.NewSockets(domain.adapter, domain.channels, domain.setup.SocketInstallations, log)
	s.slack = domain
	return nil
}

// start starts receiving events and delivering answers.
func (d *slackDomain) start() {
	d.setup.Start()
	d.channels.Start()
	d.sockets.Start()
}

// stop first stops receiving events, and then hands answers in progress over to other servers.
func (d *slackDomain) stop() {
	d.sockets.Stop()
	d.channels.Stop()
	d.setup.Stop()
	d.adapter.Close()
}
