package main

import (
	"log/slog"
	"reflect"
)

// later holds the settings that have no effect in this version. They are accepted, so that a configuration for a
// newer version works, and logged at startup.
type later struct {
	SearchURL          string `env:"TSUMUGI_SEARCH_URL" placeholder:"URL" help:"No effect yet. SearXNG server for web search."`
	SlackSigningSecret string `env:"SLACK_SIGNING_SECRET" placeholder:"SECRET" help:"No effect yet. Signing secret of the Slack app."`
	SlackBotToken      string `env:"SLACK_BOT_TOKEN" placeholder:"TOKEN" help:"No effect yet. Bot token of the Slack app."`
	SlackAppToken      string `env:"SLACK_APP_TOKEN" placeholder:"TOKEN" help:"No effect yet. App token of the Slack app."`
	SlackAPIURL        string `name:"slack-api-url" env:"SLACK_API_URL" placeholder:"URL" help:"No effect yet. Where Slack's API is."`
}

// warn logs the settings that are set and have no effect. Their values may be secrets and are not logged.
func (l *later) warn(log *slog.Logger) {
	values := reflect.ValueOf(*l)
	for i := range values.NumField() {
		if !values.Field(i).IsZero() {
			log.Warn("a setting has no effect yet", "setting", values.Type().Field(i).Tag.Get("env"))
		}
	}
}
