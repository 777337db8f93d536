package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/catalog"
	"github.com/tsumugi-ai/tsumugi/internal/llm/offline"
)

// catalog returns the configured models.
func (c *config) catalog(env variables) (llm.Catalog, error) {
	switch {
	case c.Models != "":
		return c.modelsFile(env)
	case c.openAIConnected():
		return c.openAICatalog(), nil
	}
	return llm.Catalog{Default: offline.ModelName, Providers: []llm.Provider{{
		Config: llm.Config{
			BaseURL: offline.BaseURL, Transport: offline.NewTransport(offline.Config{Pace: offline.DefaultPace}),
		},
		Routes: []llm.Route{{Offer: llm.Offer{
			ID: offline.ModelName, Provider: "Tsumugi", Name: "オフラインエンジン", Thinking: llm.ThinkingNone,
			ContextTokens: c.ContextTokens,
		}}},
	}}}, nil
}

// modelsFile returns the models of the operator's file.
func (c *config) modelsFile(env variables) (llm.Catalog, error) {
	data, err := readStart(c.Models, catalog.MaxSize+1)
	if err != nil {
		return llm.Catalog{}, err
	}
	provider := llm.Config{FirstTokenTimeout: c.FirstTokenTimeout, TokenTimeout: c.TokenTimeout}
	parsed, err := catalog.Parse(data, catalog.Config{Env: env.lookup, Sealed: c.SecretKey, Provider: provider})
	if err != nil {
		return llm.Catalog{}, fmt.Errorf("%s:\n%w", c.Models, err)
	}
	return parsed, nil
}

// openAICatalog returns the models that the settings OPENAI_* configure.
func (c *config) openAICatalog() llm.Catalog {
	name, second := strings.TrimSpace(c.OpenAIModel), strings.TrimSpace(c.OpenAIFallbackModel)
	offer := llm.Offer{
		ID: name, Provider: "OpenAI", Name: name, Thinking: llm.ThinkingNone, Sees: c.OpenAIVision,
		ContextTokens: c.ContextTokens,
	}
	if host, err := url.Parse(c.OpenAIBaseURL); err == nil && host.Host != "" {
		offer.Provider = host.Hostname()
	}
	provider := llm.Provider{Config: c.provider(), Routes: []llm.Route{{Offer: offer}}}
	if second != "" && second != name {
		provider.Routes[0].Fallback = second
		offer.ID, offer.Name = second, second
		provider.Routes = append(provider.Routes, llm.Route{Offer: offer})
	}
	return llm.Catalog{Providers: []llm.Provider{provider}, Default: name}
}

// proofreadNote returns the note that is shown below every proofreading.
func (c *config) proofreadNote() string {
	if c.modelConnected() {
		return ""
	}
	return offline.ProofreadNote
}
