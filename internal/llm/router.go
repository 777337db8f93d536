package llm

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// Thinking says whether a model thinks before it answers, and whether that can be turned off.
type Thinking string

// The kinds of thinking.
const (
	ThinkingNone   Thinking = "none"
	ThinkingSwitch Thinking = "switch"
	ThinkingAlways Thinking = "always"
)

// Offer is a model that the operator offers.
type Offer struct {
	ID            string // Of the operator's choice.
	Provider      string // Name of the provider.
	Name          string // For people.
	Note          string // A line beside the name, "" for none.
	Sees          bool   // It reads pictures.
	Thinking      Thinking
	ContextTokens int // That it reads and writes at most.
}

// Route is an Offer with the way to its model.
type Route struct {
	Offer

	Model       string         // The provider's name of the model; "" if it is the id.
	ThinkingOn  map[string]any // Fields of the request that have the model think,
	ThinkingOff map[string]any // and those that keep it from thinking.
	Fallback    string         // The id of the model that is asked when this one fails before its first token, "" for none.
}

// Provider is a server with the models that it offers.
type Provider struct {
	Config Config // How it is reached. Its Model is not used.
	Routes []Route

	// What this server asks of it at most; 0 for any number.
	MaxConcurrent   int
	TokensPerMinute int // Of requests and answers.
}

// Catalog is everything that the operator offers.
type Catalog struct {
	Providers []Provider
	Default   string // The id of the model that answers where a request names none.
	Title     string // The id of the model that writes titles; "" for the one that answers.
}

// Router is a Model that has each request answered by the provider of the model that it names.
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
}

var _ Model = (*Router)(nil)

// NewRouter returns a Router. It makes no request; an error names the invalid setting.
func NewRouter(catalog Catalog, log *slog.Logger) (*Router, error) {
	r := &Router{catalog: catalog, routes: make(map[string]*route), log: log}
	for _, p := range catalog.Providers {
		if len(p.Routes) == 0 {
			return nil, fmt.Errorf("llm: the provider at %q has no model", p.Config.BaseURL)
		}
		p.Config.Model, p.Config.Logger = cmp.Or(p.Routes[0].Model, p.Routes[0].ID), log
		client, err := NewClient(p.Config)
		if err != nil {
			return nil, err
		}
		from := &provider{client: client, limits: newLimits(p)}
		r.providers = append(r.providers, from)
		for _, to := range p.Routes {
			if r.routes[to.ID] != nil {
				return nil, fmt.Errorf("llm: two models have the id %q", to.ID)
			}
			to.Model = cmp.Or(to.Model, to.ID)
			r.routes[to.ID] = &route{Route: to, provider: from}
			r.offers = append(r.offers, to.Offer)
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}

// check checks the ids that name other models.
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

// TitleModel returns the id of the model that writes titles, "" for the one that answers.
func (r *Router) TitleModel() string { return r.catalog.Title }

// Close closes the idle connections. Streams in progress continue.
func (r *Router) Close() {
	for _, p := range r.providers {
		p.client.Close()
	}
}

// Stream implements Model. A model that fails before its first token is followed by its fallback, where that may help;
// the result names the model that was asked last, and has the usage of all. A request for an unknown model goes to the
// default one.
func (r *Router) Stream(ctx context.Context, req Request, emit func(text string)) (Result, error) {
	to := r.routes[req.Model]
	if to == nil {
		to = r.routes[r.catalog.Default]
	}
	var spent Usage
	begun := false
	if reasoning := req.Reasoning; reasoning != nil {
		req.Reasoning = func(text string) { begun = true; reasoning(text) }
	}
	for asked := []string{to.ID}; ; asked = append(asked, to.ID) {
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

// stream asks the route's own model, when its provider's limits allow it.
func (to *route) stream(ctx context.Context, req Request, emit func(text string)) (result Result, err error) {
	patience := to.provider.client.cfg.FirstTokenTimeout
	if to.Fallback != "" {
		patience = min(patience, shortPatience)
	}
	leave, err := to.provider.limits.enter(ctx, estimateInput(req.Messages), patience)
	if err != nil {
		return Result{Model: to.Model, ModelID: to.ID}, err
	}
	defer func() { leave(result.Usage.InputTokens + result.Usage.OutputTokens) }()
	req.Model = to.Model
	if to.Thinking == ThinkingSwitch && req.Thinking != nil {
		req.extra = to.ThinkingOff
		if *req.Thinking {
			req.extra = to.ThinkingOn
		}
	}
	result, err = to.provider.client.Stream(ctx, req, emit)
	result.ModelID = to.ID
	return result, err
}
