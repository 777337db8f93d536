package main

import (
	"log/slog"
	"reflect"
)

// later holds the settings that have no effect in this version. They are accepted, so that a configuration for a
// newer version works, and logged at startup.
type later struct {
	SearchURL string `env:"TSUMUGI_SEARCH_URL" placeholder:"URL" help:"No effect yet. SearXNG server for web search."`
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
