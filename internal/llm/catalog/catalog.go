// Package catalog parses an operator's file of model providers.
//
// It imports package llm, package secret for keys that are encrypted in the file, and a YAML decoder. It sends no
// requests to providers.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
)

// Limits of a file.
const (
	MaxSize      = 1 << 20 // In bytes.
	maxProviders = 20
	maxModels    = 100 // Total for all providers.
	maxErrors    = 20  // Maximum number of reported errors.
	maxLine      = 60  // Characters of a name or a note.
	maxName      = 200 // Bytes of a provider's name of a model.
	maxPrice     = 1_000_000_000
)

// Bounds of a model's context, in tokens. The minimum leaves room for instructions, a question and a few passages.
const (
	MinContext     = 4_000
	MaxContext     = 10_000_000
	defaultContext = 32_000
)

// SealOwner is the owner to which encrypted keys in the file are bound.
const SealOwner = "models.yaml"

// Config holds the values that a file may refer to.
type Config struct {
	Env    func(name string) (string, bool)
	Sealed secret.Keyring

	// Provider holds the client settings for all providers, without address and key.
	Provider llm.Config
}

// file, provider and model are the schema of the file. Unknown keys are refused.
type file struct {
	Default   string     `yaml:"default"`
	Title     string     `yaml:"title"`
	Providers []provider `yaml:"providers"`
}

type provider struct {
	Name            string  `yaml:"name"`
	BaseURL         string  `yaml:"base_url"`
	APIKey          string  `yaml:"api_key"`
	MaxConcurrent   int     `yaml:"max_concurrent"`
	TokensPerMinute int     `yaml:"tokens_per_minute"`
	Models          []model `yaml:"models"`
}

type model struct {
	ID            string         `yaml:"id"`
	Model         string         `yaml:"model"`
	Name          string         `yaml:"name"`
	Note          string         `yaml:"note"`
	ContextTokens int            `yaml:"context_tokens"`
	Sees          bool           `yaml:"sees"`
	Thinking      llm.Thinking   `yaml:"thinking"`
	ThinkingOn    map[string]any `yaml:"thinking_on"`
	ThinkingOff   map[string]any `yaml:"thinking_off"`
	Fallback      string         `yaml:"fallback"`
	Price         *price         `yaml:"price"`
	Tools         *bool          `yaml:"tools"`

	Continue llm.Continuation `yaml:"continue"`
}

type price struct {
	Input    float64 `yaml:"input"`
	Output   float64 `yaml:"output"`
	Currency string  `yaml:"currency"`
}

// Parse parses a file. Its errors are for the operator: each contains a line number, and none contains a key.
func Parse(data []byte, cfg Config) (llm.Catalog, error) {
	var f file
	root, err := decode(data, &f)
	if err != nil {
		return llm.Catalog{}, err
	}
	r := &reader{root: root, cfg: cfg, ids: make(map[string]bool)}
	r.characters(root)
	r.counts(f)
	if len(r.errs) > 0 {
		return llm.Catalog{}, errors.Join(r.errs...)
	}
	read := llm.Catalog{Default: f.Default, Title: f.Title}
	for i, p := range f.Providers {
		read.Providers = append(read.Providers, r.provider(p, i))
	}
	r.references(f)
	return read, errors.Join(r.errs...)
}

// reader validates a file and collects its errors.
type reader struct {
	root *node
	cfg  Config
	ids  map[string]bool // Ids of the models.
	errs []error
}

// wrong adds an error at a place of the file.
func (r *reader) wrong(at []any, format string, args ...any) {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, fmt.Errorf("line %d: %w", r.root.line(at...), fmt.Errorf(format, args...)))
	}
}

// characters refuses control characters, which are invisible and cannot be stored in the database.
func (r *reader) characters(n *node) {
	if strings.ContainsFunc(n.Value, func(c rune) bool { return c != '\n' && unicode.IsControl(c) }) &&
		len(r.errs) < maxErrors {
		r.errs = append(r.errs, fmt.Errorf("line %d: a control character", n.Line))
	}
	for _, child := range n.Content {
		r.characters((*node)(child))
	}
}

func (r *reader) counts(f file) {
	models := 0
	for _, p := range f.Providers {
		models += len(p.Models)
	}
	if len(f.Providers) == 0 || len(f.Providers) > maxProviders || models > maxModels {
		r.wrong([]any{"providers"}, "there must be 1 to %d providers, with at most %d models together", maxProviders,
			maxModels)
	}
}

func (r *reader) provider(p provider, i int) llm.Provider {
	at := func(key string) []any { return []any{"providers", i, key} }
	if !fits(p.Name) {
		r.wrong(at("name"), "name must have 1 to %d characters, on one line", maxLine)
	}
	if p.MaxConcurrent < 0 || p.TokensPerMinute < 0 {
		r.wrong(at("max_concurrent"), "max_concurrent and tokens_per_minute must not be negative")
	}
	key, err := r.key(p.APIKey)
	if err != nil {
		r.wrong(at("api_key"), "api_key %w", err)
	}
	if p.BaseURL == "" {
		r.wrong(at("base_url"), "base_url is missing")
	}
	if len(p.Models) == 0 {
		r.wrong(at("models"), "the provider %q has no models", p.Name)
	}
	read := llm.Provider{
		Config: r.cfg.Provider, MaxConcurrent: p.MaxConcurrent, TokensPerMinute: p.TokensPerMinute,
	}
	read.Config.BaseURL, read.Config.APIKey = p.BaseURL, key
	for j, m := range p.Models {
		read.Routes = append(read.Routes, r.model(m, p.Name, []any{"providers", i, "models", j}))
	}
	if len(p.Models) > 0 { // The client validates the address without sending a request.
		config := read.Config
		config.Model = "any"
		if client, err := llm.NewClient(config); err != nil {
			r.wrong(at("base_url"), "%w", err)
		} else {
			client.Close()
		}
	}
	return read
}

// variable matches a reference to an environment variable.
var variable = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// key returns a key from the file, decrypted if necessary, or from an environment variable.
func (r *reader) key(written string) (string, error) {
	if match := variable.FindStringSubmatch(written); match != nil {
		value, found := r.cfg.Env(match[1])
		if !found || value == "" {
			return "", fmt.Errorf("refers to the environment variable %s, which is not set", match[1])
		}
		return value, nil
	}
	if strings.Contains(written, "${") {
		return "", errors.New("must be a key, or a reference to an environment variable alone, as ${NAME}")
	}
	if !secret.Sealed(written) {
		return written, nil
	}
	plain, err := r.cfg.Sealed.Open(written, SealOwner)
	if err != nil {
		return "", fmt.Errorf("cannot be opened: %w", err)
	}
	return string(plain), nil
}

// modelID matches model ids. They are used in requests, settings of organizations and skill files.
var modelID = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func (r *reader) model(m model, provider string, at []any) llm.Route {
	wrong := func(key, format string, args ...any) {
		r.wrong(append(slices.Clone(at), key), format, args...)
	}
	if !modelID.MatchString(m.ID) || r.ids[m.ID] {
		wrong("id", "model %q: the id must be its own, of 1 to 64 letters a to z, digits, - . and _", m.ID)
	}
	r.ids[m.ID] = true
	if len(m.Model) > maxName {
		wrong("model", "model %q: the provider's name must have at most %d bytes", m.ID, maxName)
	}
	if !fits(m.Name) {
		wrong("name", "model %q: name must have 1 to %d characters, on one line", m.ID, maxLine)
	}
	if m.Note != "" && !fits(m.Note) {
		wrong("note", "model %q: note must have at most %d characters, on one line", m.ID, maxLine)
	}
	m.ContextTokens = cmp.Or(m.ContextTokens, defaultContext)
	if m.ContextTokens < MinContext || m.ContextTokens > MaxContext {
		wrong("context_tokens", "model %q: context_tokens must be between %d and %d", m.ID, MinContext, MaxContext)
	}
	if m.Continue != "" && !slices.Contains(llm.Continuations, m.Continue) {
		wrong("continue", "model %q: continue must be restart, continue_final_message, prefix or assistant", m.ID)
	}
	r.thinking(&m, wrong)
	return llm.Route{
		Offer: llm.Offer{
			ID: m.ID, Provider: provider, Name: m.Name, Note: m.Note, Sees: m.Sees,
			NoTools: m.Tools != nil && !*m.Tools, Thinking: m.Thinking,
			ContextTokens: m.ContextTokens, Price: m.price(wrong),
		},
		Model: m.Model, ThinkingOn: m.ThinkingOn, ThinkingOff: m.ThinkingOff, Fallback: m.Fallback,
		Continue: m.Continue,
	}
}

// currency matches codes of currencies.
var currency = regexp.MustCompile(`^[A-Z]{3}$`)

// price validates and returns the model's price.
func (m model) price(wrong func(key, format string, args ...any)) *llm.Price {
	if m.Price == nil {
		return nil
	}
	p := llm.Price{Input: m.Price.Input, Output: m.Price.Output, Currency: cmp.Or(m.Price.Currency, "JPY")}
	for _, amount := range []float64{p.Input, p.Output} {
		if !(amount >= 0 && amount <= maxPrice) || !currency.MatchString(p.Currency) {
			wrong("price", "model %q: price needs input and output between 0 and %d, and a currency such as JPY", m.ID, maxPrice)
			break
		}
	}
	return &p
}

// ours are the request fields that thinking_on and thinking_off must not replace.
var ours = []string{"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens"}

// thinking validates the settings that switch a model's thinking on and off.
func (r *reader) thinking(m *model, wrong func(key, format string, args ...any)) {
	m.Thinking = cmp.Or(m.Thinking, llm.ThinkingNone)
	switch m.Thinking {
	case llm.ThinkingSwitch:
		if len(m.ThinkingOn)+len(m.ThinkingOff) == 0 {
			wrong("thinking", "model %q: thinking: switch needs thinking_on or thinking_off, the fields for it", m.ID)
		}
	case llm.ThinkingNone, llm.ThinkingAlways:
		if len(m.ThinkingOn)+len(m.ThinkingOff) > 0 {
			wrong("thinking", "model %q: thinking_on and thinking_off need thinking: switch", m.ID)
		}
	default:
		wrong("thinking", "model %q: thinking must be none, switch or always", m.ID)
	}
	for key, fields := range map[string]map[string]any{"thinking_on": m.ThinkingOn, "thinking_off": m.ThinkingOff} {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if slices.Contains(ours, name) {
				wrong(key, "model %q: %s must not set %s", m.ID, key, name)
			}
		}
		if !encodable(fields) {
			wrong(key, "model %q: %s has a value that no JSON can hold", m.ID, key)
		}
	}
}

// references validates references to other models.
func (r *reader) references(f file) {
	if !r.ids[f.Default] {
		r.wrong([]any{"default"}, "default must be the id of a model")
	}
	if f.Title != "" && !r.ids[f.Title] {
		r.wrong([]any{"title"}, "title must be the id of a model")
	}
	for i, p := range f.Providers {
		for j, m := range p.Models {
			if m.Fallback != "" && (!r.ids[m.Fallback] || m.Fallback == m.ID) {
				r.wrong([]any{"providers", i, "models", j, "fallback"},
					"model %q: fallback must be the id of another model", m.ID)
			}
		}
	}
}

// fits reports whether a text has 1 to maxLine characters in a single line.
func fits(text string) bool {
	return strings.TrimSpace(text) != "" && utf8.RuneCountInString(text) <= maxLine && !strings.Contains(text, "\n")
}
