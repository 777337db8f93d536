package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// routes returns the router. Every route of the server stands here; a test compares them with openapi.yaml.
func (s *Server) routes() (http.Handler, error) {
	r := chi.NewRouter()
	r.Use(withAddress(s.cfg.TrustedProxies), withRequestID, withTrace, s.withLog, s.withRecovery, s.withSecurityHeaders, withBodyDeadline, withWriteDeadline)

	// Without a token.
	r.Get("/ping", s.handle(s.ping))
	r.Get("/healthz", s.handle(s.ping))
	r.With(withTimeLimit(callTimeout)).Get("/readyz", s.handle(s.readyz))
	if s.Metrics != nil {
		r.Method(http.MethodGet, "/metrics", s.Metrics)
	}
	r.Get("/config.json", s.handle(s.appConfig))
	r.Get("/openapi.yaml", s.handle(s.openapi))
	page, err := newDocsPage(openapiYAML)
	if err != nil {
		return nil, err
	}
	r.Get("/docs/api", s.handle(page.serve))
	r.Get("/docs/api.css", s.handle(page.style))

	// On the way to a token. Who comes proves themself by what they bring.
	r.Group(func(r chi.Router) {
		r.Use(withTimeLimit(callTimeout), s.limitAddress)
		r.Post("/v1/auth-type", s.handle(s.authType))
		r.Post("/v1/refresh_token", s.handle(s.refreshToken))
		r.Get("/v1/oauth2/authorize", s.handle(s.authorize))
		r.Get("/v1/oauth2/callback", s.handle(s.oauth2Callback))
		r.Get("/v1/saml/{organization_id}/metadata", s.handle(s.samlMetadata))
		r.Post("/v1/saml/{organization_id}/acs", s.handle(s.samlConsumer))
	})

	// With a token that comes later.
	r.Get("/v1/live", s.handle(s.Live.serve))

	// With a token.
	r.Group(func(r chi.Router) {
		r.Use(withTimeLimit(callTimeout), s.withActor)
		r.Post("/v1/signout", s.as(s.signOut))
		r.Get("/v1/me", s.as(s.me))

		r.Get("/v1/category", s.as(s.listCategories))
		r.Get("/v1/skill", s.as(s.listSkills))
		r.Get("/v1/skill/{skill_id}", s.as(s.getSkill))
		r.Get("/v1/favorite_skill", s.as(s.listFavoriteSkills))
		r.Post("/v1/favorite_skill", s.as(s.addFavoriteSkill))
		r.Delete("/v1/favorite_skill", s.as(s.removeFavoriteSkill))

		r.Get("/v1/saml-config", s.as(s.getSAMLConfig))
		r.Put("/v1/saml-config", s.as(s.putSAMLConfig))
		r.Put("/v1/saml-config/on", s.as(s.turnSAMLOn))
		r.Put("/v1/saml-config/off", s.as(s.turnSAMLOff))
		r.Post("/v1/saml-config/test", s.as(s.testSAML))
		r.Get("/v1/saml-config/test/{test_id}", s.as(s.getSAMLTest))

		r.Get("/v1/notification", s.as(s.listNotifications))
		r.Put("/v1/notification/read", s.as(s.readNotifications))

		r.Get("/v1/contract", s.as(s.getContract))
		r.Get("/v1/contract/usage/member", s.as(s.listMemberUsage))
		r.Get("/v1/user", s.as(s.listUsers))
		r.With(s.limitMail).Post("/v1/user/invite", s.as(s.inviteUsers))
		r.With(s.limitMail).Post("/v1/user/invite/resend", s.as(s.resendInvitation))
		r.Put("/v1/user/{user_id}", s.as(s.editUser))
		r.Delete("/v1/user/{user_id}", s.as(s.removeUser))
		r.Get("/v1/audit", s.as(s.listAuditEvents))

		r.Get("/v1/thread", s.as(s.listThreads))
		r.Post("/v1/thread", s.as(s.createThread))
		r.Get("/v1/thread/{thread_id}", s.as(s.getThread))
		r.Put("/v1/thread/{thread_id}", s.as(s.editThread))
		r.Delete("/v1/thread/{thread_id}", s.as(s.deleteThread))
		r.Put("/v1/thread/{thread_id}/touch", s.as(s.touchThread))

		r.Get("/v1/data-source", s.as(s.listDataSources))
		r.Delete("/v1/data-source/{data_source_id}", s.as(s.deleteDataSource))

		r.Get("/v1/message", s.as(s.listMessages))
		r.Post("/v1/message/async", s.as(s.askMessage))
		r.Post("/v1/message/{message_id}/stop", s.as(s.stopMessage))
		r.Post("/v1/message_feedback", s.as(s.giveFeedback))
	})

	// With a token, and as long as the answer takes.
	r.Group(func(r chi.Router) {
		r.Use(s.withActor)
		r.Post("/v1/message/stream", s.as(s.streamMessage))
		r.Post("/v1/message/sync", s.as(s.askMessageAndWait))
		r.Get("/v1/message/{message_id}/stream", s.as(s.attachMessage))
	})

	// With a token, and as long as the file takes.
	r.Group(func(r chi.Router) {
		r.Use(s.withActor)
		r.Post("/v1/data-source/file", s.as(s.uploadDataSource))
		r.Get("/v1/data-source/file/{data_source_id}", s.as(s.downloadDataSource))
	})

	// The user pool's own protocol, and the app with its client-side routes.
	if s.Pool != nil {
		r.With(withTimeLimit(callTimeout), s.limitPool).Mount("/pool", s.Pool)
	}
	app, err := newApp(s.App, s.cfg)
	if err != nil {
		return nil, err
	}
	r.Get("/*", s.handle(app.serve))
	r.Head("/*", s.handle(app.serve))
	r.MethodNotAllowed(s.handle(func(w http.ResponseWriter, req *http.Request) error { return noMethod(r, w, req) }))
	return r, nil
}
