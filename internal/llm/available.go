package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	listTimeout     = 5 * time.Second
	maxList         = 4 << 20         // In bytes, of a provider's list.
	listLifetime    = 5 * time.Minute // Maximum age of a list.
	failureLifetime = 30 * time.Second
)

var errNoList = errors.New("llm: the provider has no list of models")

// list is a provider's cached list of models.
type list struct {
	mu    sync.Mutex // Held during the request, so that concurrent callers send only one.
	until time.Time
	names map[string]bool // Nil if the request failed.

	unreachable bool // The provider did not respond.
}

// Available reports for each model id whether its provider lists the model. It omits models whose provider could not be
// asked.
func (r *Router) Available(ctx context.Context) map[string]bool {
	var asked sync.WaitGroup
	for _, p := range r.providers {
		asked.Go(func() { p.list.refresh(ctx, p.client) })
	}
	asked.Wait()
	available := make(map[string]bool)
	for id, to := range r.routes {
		if names := to.provider.list.known(); names != nil {
			// Ollama's names have a version, Google's a folder.
			available[id] = names[to.Model] || names[to.Model+":latest"] || names["models/"+to.Model]
		}
	}
	return available
}

func (l *list) known() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names
}

func (l *list) isUnreachable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unreachable
}

// refresh requests the list unless the cached one is recent.
func (l *list) refresh(ctx context.Context, client *Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Now().Before(l.until) {
		return
	}
	names, err := client.models(ctx)
	if err != nil && ctx.Err() != nil {
		return // The caller has disconnected, which is not a failure of the provider.
	}
	l.names, l.until = names, time.Now().Add(listLifetime)
	l.unreachable = err != nil && !errors.Is(err, errNoList)
	if err != nil {
		l.until = time.Now().Add(failureLifetime)
		client.cfg.Logger.InfoContext(ctx, "the provider did not list its models", "provider", client.endpoint.baseURL,
			"error", err)
	}
}

// models requests the names of the provider's models.
func (c *Client) models(ctx context.Context) (map[string]bool, error) {
	if c.endpoint.azure {
		return nil, errNoList // Azure lists deployable models instead of deployments.
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint.baseURL+"/models", http.NoBody)
	if err != nil {
		return nil, err
	}
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	response, err := c.http.Do(req) //nolint:gosec // The operator names the host.
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: status %d", errNoList, response.StatusCode)
	}
	var listed struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxList)).Decode(&listed); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoList, err)
	}
	names := make(map[string]bool, len(listed.Data))
	for _, m := range listed.Data {
		names[strings.TrimSpace(m.ID)] = true
	}
	return names, nil
}
