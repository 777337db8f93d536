package llm

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/tsumugi-ai/tsumugi/internal/tally"
)

// Thinking is a model's ability to think before it answers, and whether thinking can be switched.
type Thinking string

// The kinds of thinking.
const (
	ThinkingNone   Thinking = "none"
	ThinkingSwitch Thinking = "switch"
	ThinkingAlways Thinking = "always"
)

// Offer is a model available on this server.
type Offer struct {
	ID            string // Chosen by the operator.
	Provider      string // Name of the provider.
	Name          string // For people.
	Note          string // A line shown with the name, or "".
	Sees          bool   // It reads pictures.
	Thinking      Thinking
	ContextTokens int    // Maximum tokens of prompt and answer together.
	NoTools       bool   // It cannot call tools.
	Continues     bool   // It can continue an answer that was begun. Set by NewRouter.
	Price         *Price // Nil if the operator has set none.
}

// Price is the price of a model, for people.
type Price struct {
	Input, Output float64 // For a million tokens.
	Currency      string  // The code of ISO 4217, such as JPY.
}

// IsZero reports whether the model costs nothing, as far as known.
func (p *Price) IsZero() bool { return p == nil || p.Input == 0 && p.Output == 0 }

// Route is an Offer with the configuration of its model.
type Route struct {
	Offer

	Model       string         // The provider's name of the model; "" if it is the id.
	ThinkingOn  map[string]any // Request fields that switch thinking on.
	ThinkingOff map[string]any // Request fields that switch thinking off.
	Fallback    string         // The id of the model to use if this one fails before its first token, or "".
	Continue    Continuation   // "" is ContinueRestart.
}

// Provider is a model server with its models.
type Provider struct {
	Config Config // The client's configuration. Its Model is ignored.
	Routes []Route

	// Limits for the requests of all servers; 0 for none.
	MaxConcurrent   int
	TokensPerMinute int // Total for requests and answers.
}

// Catalog is the set of all configured models.
type Catalog struct {
	Providers []Provider
	Default   string // The id of the model for requests without a model.
	Title     string // The id of the model that writes titles; "" for the answering model.

	Servers *tally.Tally // The counts of all servers, for the limits of providers. Nil for a single server.
}

// Router is a Model that sends each request to the provider of the request's model.
type Router struct {
	catalog   Catalog
	offers    []Offer
	routes    map[string]*route
	providers []*provider
	log       *slog.Logger
}

type provider struct {
	client *Client
	limits *limits
	list   list
}

type route struct {
	Route

	provider *provider
	failing  atomic.Bool // See Failing.
}

var _ Model = (*Router)(nil)

// NewRouter returns a Router. It makes no request; an error names the invalid setting.
func NewRouter(catalog Catalog, log *slog.Logger) (*Router, error) {
	r := &Router{catalog: catalog, routes: make(map[string]*route), log: log}
	running, used := catalog.Servers.Level(kindCalls), catalog.Servers.Count(kindTokens, r.spendOfOthers)
	for _, p := range catalog.Providers {
		if len(p.Routes) == 0 {
			return nil, fmt.Errorf("llm: the provider at %q has no model", p.Config.BaseURL)
		}
		p.Config.Model, p.Config.Logger = cmp.Or(p.Routes[0].Model, p.Routes[0].ID), log
		client, err := NewClient(p.Config)
		if err != nil {
			return nil, err
		}
		from := &provider{client: client, limits: newLimits(p, running, used)}
		r.providers = append(r.providers, from)
		for _, to := range p.Routes {
			if r.routes[to.ID] != nil {
				return nil, fmt.Errorf("llm: two models have the id %q", to.ID)
			}
			to.Model = cmp.Or(to.Model, to.ID)
			to.Continues = to.Continue.continues()
			r.routes[to.ID] = &route{Route: to, provider: from}
			r.offers = append(r.offers, to.Offer)
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// spendOfOthers counts tokens that another server has used.
func (r *Router) spendOfOthers(key string, tokens int) {
	for _, p := range r.providers {
		if p.limits.key == key {
			p.limits.take(tokens)
			return
		}
	}
}

// check validates references to other models.
func (r *Router) check() error {
	if r.routes[r.catalog.Default] == nil {
		return fmt.Errorf("llm: there is no model %q for the default", r.catalog.Default)
	}
	if r.catalog.Title != "" && r.routes[r.catalog.Title] == nil {
		return fmt.Errorf("llm: there is no model %q for titles", r.catalog.Title)
	}
	for id, to := range r.routes {
		if to.Fallback != "" && r.routes[to.Fallback] == nil {
			return fmt.Errorf("llm: there is no model %q for the fallback of %q", to.Fallback, id)
		}
	}
	return nil
}

// Offers returns the models in the operator's order. The first result is the id of the default.
func (r *Router) Offers() (defaultID string, offers []Offer) {
	return r.catalog.Default, slices.Clone(r.offers)
}

// TitleModel returns the id of the model that writes titles, or "" for the answering model.
func (r *Router) TitleModel() string { return r.catalog.Title }

// Failing reports whether a model's last request failed for a reason that concerns every request, or its provider could
// not be reached when Available last asked it.
func (r *Router) Failing(id string) bool {
	to := r.routes[id]
	return to != nil && (to.failing.Load() || to.provider.list.isUnreachable())
}

// Close closes the idle connections. Streams in progress continue.
func (r *Router) Close() {
	for _, p := range r.providers {
		p.client.Close()
	}
}

// Stream implements Model. If a model fails before its first token, Stream uses its fallback, unless the failure rules
// that out. The result contains the id of the last model and the usage of all. A request for an unknown model uses the
// default model. A model that does not continue answers is not asked to continue one.
func (r *Router) Stream(ctx context.Context, req Request, emit func(text string)) (Result, error) {
	to := cmp.Or(r.routes[req.Model], r.routes[r.catalog.Default])
	var spent Usage
	begun := false
	if reasoning := req.Reasoning; reasoning != nil {
		req.Reasoning = func(text string) { begun = true; reasoning(text) }
	}
	for asked := []string{to.ID}; ; asked = append(asked, to.ID) {
		if req.Prefix != "" && !to.Continues {
			return Result{Model: to.Model, ModelID: to.ID, Usage: spent}, errNotContinued
		}
		result, err := to.stream(ctx, req, func(text string) { begun = true; emit(text) })
		spent.Add(result.Usage)
		result.Usage = spent
		if err == nil || begun || ctx.Err() != nil || to.Fallback == "" || slices.Contains(asked, to.Fallback) ||
			!fallbackHelps(err) || req.hasPictures() && !r.routes[to.Fallback].Sees {
			return result, err
		}
		r.log.WarnContext(ctx, "model failed, asking the fallback", "model", to.ID, "fallback", to.Fallback,
			"error", err)
		to = r.routes[to.Fallback]
	}
}

// stream asks the route's own model within its provider's limits.
func (to *route) stream(ctx context.Context, req Request, emit func(text string)) (result Result, err error) {
	patience := to.provider.client.cfg.FirstTokenTimeout
	if to.Fallback != "" {
		patience = min(patience, shortPatience)
	}
	estimate, began, write := estimateInput(&req), false, emit
	leave, err := to.provider.limits.enter(ctx, estimate, patience)
	if err != nil {
		return Result{Model: to.Model, ModelID: to.ID}, err
	}
	emit = func(text string) {
		began = true
		write(text)
	}
	defer func() {
		used := result.Usage.InputTokens + result.Usage.OutputTokens
		if used == 0 && (err == nil || began) {
			used = estimate // The provider has not reported the number.
		}
		leave(used)
	}()
	req.Model = to.Model
	if to.NoTools && len(req.Tools) > 0 && !req.Exact {
		req.Tools, req.ToolChoice, req.ParallelToolCalls = nil, ToolChoice{}, nil
		defer func() { result.ToolsRefused = true }()
	}
	if to.Thinking == ThinkingSwitch && req.Thinking != nil {
		req.extra = to.ThinkingOff
		if *req.Thinking {
			req.extra = to.ThinkingOn
		}
	}
	if req.Prefix != "" {
		c := to.continuePrefix(&req, emit)
		emit = c.write
		defer func() {
			if err == nil { // After a failure, the held text is the beginning of a repeated prefix.
				c.close()
			}
		}()
	}
	result, err = to.provider.client.Stream(ctx, req, emit)
	switch {
	case err == nil:
		to.failing.Store(false)
	case concernsAll(err):
		to.failing.Store(true)
	}
	result.ModelID = to.ID
	return result, err
}
