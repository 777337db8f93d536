package main

import (
	"context"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/store"
)

const (
	stateLimit    = 4 * time.Second // Time limit of a check. The API's time limit for a call is longer.
	stateLifetime = time.Minute     // Maximum age of a result, so that views cause few calls of providers.
)

// stateReader checks the services that an organization uses, for its super-admins. It asks no model and searches
// nothing, because providers charge for that: the states of models, embeddings and web search are those of the last
// requests of this server. Unlike those of doctor, its results have no texts, because the addresses and errors of the
// operator's services do not concern an organization.
type stateReader struct {
	server   *server
	db       *store.DB
	settings *examination

	mu   sync.Mutex // Guards kept.
	kept map[string]*keptResult
}

// keptResult is the last result of a check.
type keptResult struct {
	mu     sync.Mutex // Guards the fields below; held while the check runs, so that concurrent calls cause one run.
	at     time.Time
	result doctor.Result
}

func newStateReader(s *server, c *config, db *store.DB) *stateReader {
	return &stateReader{server: s, db: db, settings: &examination{config: c}, kept: make(map[string]*keptResult)}
}

// read returns the ids and states of the services that are configured.
func (r *stateReader) read(ctx context.Context, actor identity.Actor) ([]doctor.Report, error) {
	organization := actor.OrganizationID.String()
	slack, err := r.server.slack.setup.View(ctx, actor)
	if err != nil {
		return nil, err
	}
	byOIDC, err := r.db.OIDCSettings(ctx, actor.OrganizationID)
	if err != nil {
		return nil, err
	}
	bySAML, err := r.db.SAMLSettings(ctx, actor.OrganizationID)
	if err != nil {
		return nil, err
	}
	checks := []doctor.Check{r.check("files", "", func(ctx context.Context) doctor.Result {
		return failureIf(r.server.files.Check(ctx) != nil)
	})}
	add := func(configured bool, check doctor.Check) {
		if configured {
			checks = append(checks, check)
		}
	}
	c, sources := r.settings, r.server.sources.Stats()
	add(c.modelConnected(), r.check("model", organization, func(ctx context.Context) doctor.Result {
		return r.models(ctx, actor)
	}))
	embedding := failureIf(sources.EmbedderFailing)
	if sources.EmbedderFailing {
		embedding.State = doctor.Warning // Files are found by words.
	}
	add(c.EmbeddingModel != "", known("embedding", embedding))
	add(c.searches(), known("web-search", failureIf(r.server.web != nil && r.server.web.Stats().Failing)))
	add(c.SMTPURL != "", r.check("mail", "", c.checkMailServer))
	add(slack.Installation.Connected(), r.check("slack", organization, func(ctx context.Context) doctor.Result {
		return r.slack(ctx, actor)
	}))
	add(bySAML.Enabled,
		known("single-sign-on", certificateResult(saml.CertificateEnd(bySAML.Certificates), time.Now())))
	add(byOIDC.Enabled, r.check("single-sign-on", organization, func(ctx context.Context) doctor.Result {
		return failureIf(r.server.oidc.Reachable(ctx, byOIDC) != nil)
	}))
	return doctor.Run(context.WithoutCancel(ctx), checks, doctor.Options{Limit: stateLimit}), nil
}

// failureIf returns a failure if failed is true, and otherwise OK.
func failureIf(failed bool) doctor.Result {
	if failed {
		return doctor.Result{State: doctor.Failure}
	}
	return doctor.Result{State: doctor.OK}
}

// known returns a check with a known result.
func known(id string, result doctor.Result) doctor.Check {
	return doctor.Check{ID: id, Run: always(result)}
}

// check returns a check that repeats its last result for stateLifetime. owner is the organization of the result, or ""
// if all organizations have the same.
func (r *stateReader) check(id, owner string, run func(context.Context) doctor.Result) doctor.Check {
	return doctor.Check{ID: id, Run: func(ctx context.Context) doctor.Result {
		r.mu.Lock()
		kept := r.kept[id+owner]
		if kept == nil {
			kept = &keptResult{}
			r.kept[id+owner] = kept
		}
		r.mu.Unlock()
		kept.mu.Lock()
		defer kept.mu.Unlock()
		if time.Since(kept.at) >= stateLifetime {
			kept.result = run(ctx)
			kept.at = time.Now()
		}
		return kept.result
	}}
}

// models returns a failure if the organization's default model is not available, and a warning for another one.
func (r *stateReader) models(ctx context.Context, actor identity.Actor) doctor.Result {
	settings, err := r.server.models.Settings(ctx, actor)
	if err != nil || ctx.Err() != nil {
		return failureIf(true)
	}
	result := failureIf(false)
	for _, m := range settings.Models {
		listed := m.Available == nil || *m.Available
		switch {
		case !m.Setting.Allowed || listed && !r.server.router.Failing(m.ID):
		case m.ID == settings.DefaultID:
			return failureIf(true)
		default:
			result.State = doctor.Warning
		}
	}
	return result
}

func (r *stateReader) slack(ctx context.Context, actor identity.Actor) doctor.Result {
	checks, err := r.server.slack.setup.Test(ctx, actor)
	for _, check := range checks {
		if !check.OK {
			return failureIf(true)
		}
	}
	return failureIf(err != nil && fault.CodeOf(err) != fault.NotFound) // It may have been disconnected meanwhile.
}
