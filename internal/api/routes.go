package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/crx"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// routes returns the router with every route of the server. A test compares it with openapi.yaml.
func (s *Server) routes() (http.Handler, error) {
	r := chi.NewRouter()
	r.Use(withAddress(s.cfg.TrustedProxies), withRequestID, withTrace, s.withLog, s.withRecovery, s.withSecurityHeaders,
		s.withCORS, withHead, withBodyDeadline, withWriteDeadline)

	// Without authentication.
	r.Get("/ping", s.handle(s.ping))
	r.Get("/healthz", s.handle(s.ping))
	r.With(withTimeLimit).Get("/readyz", s.handle(s.readyz))
	if s.Metrics != nil {
		r.Method(http.MethodGet, "/metrics", s.Metrics)
	}
	r.Get("/config.json", s.handle(s.appConfig))
	r.Get("/openapi.yaml", s.handle(s.openapi))
	r.Get("/.well-known/tsumugi-signing-key", s.handle(s.signingKey))
	r.Get("/docs/api", s.handle(serveDocsPage))
	r.Get("/docs/api.css", s.handle(serveDocsStyle))

	r.Get(crx.UpdatesPath, s.handle(s.extensionFile("text/xml; charset=utf-8")))
	r.Get(crx.CRXPath, s.handle(s.extensionFile("application/x-chrome-extension")))
	r.Get(crx.ZIPPath, s.handle(s.extensionFile("application/zip")))

	// Routes that lead to a token. A client authenticates with the body or the cookie.
	r.Group(func(r chi.Router) {
		r.Use(withTimeLimit, s.limitAddress(ratelimit.KindSignIn), s.withOrigin)
		r.Post("/v1/auth-type", s.handle(s.authType))
		r.Post("/v1/auth-type/qr-code", s.handle(s.drawFactorCode))
		r.Post("/v1/refresh_token", s.handle(s.refreshToken))
		r.Get("/v1/oauth2/authorize", s.handle(s.authorize))
		r.Get("/v1/oauth2/callback", s.handle(s.oauth2Callback))
		r.Get("/v1/oauth2/link", s.handle(s.getSSOLink))
		r.Post("/v1/oauth2/link", s.handle(s.confirmSSOLink))
		r.Get("/v1/saml/{organization_id}/metadata", s.handle(s.samlMetadata))
		r.Post("/v1/saml/{organization_id}/acs", s.handle(s.samlConsumer))
		r.Get("/v1/oidc/{organization_id}/callback", s.handle(s.oidcCallback))
	})
	r.With(withTimeLimit, s.limitAddress(ratelimit.KindLogout), s.withOrigin).
		Post("/v1/oidc/{organization_id}/logout", s.oidcLogout)

	// Requests from Slack are signed; redirected browsers have a cookie. There is no limit by address, because the
	// events of all offices come from Slack's addresses.
	r.Post(slack.PathEvent, s.handle(s.slackEvent))
	r.Post(slack.PathInteraction, s.handle(s.slackInteraction))
	r.Post(slack.PathCommand, s.handle(s.slackCommand))
	r.Group(func(r chi.Router) {
		r.Use(withSlackLimit, s.limitAddress(ratelimit.KindSignIn))
		r.Get(slack.PathInstallCallback, s.handle(s.slackInstalled))
		r.Get(slack.PathSignInCallback, s.handle(s.slackLinked))
	})

	// The authorization server for clients other than the app. A client authenticates with its code or token.
	r.Get("/.well-known/oauth-authorization-server", s.handle(s.oauthMetadata))
	r.Get(mcpMetadataPath, s.handle(s.resourceMetadata))
	r.Get(mcpMetadataPath+mcpPath, s.handle(s.resourceMetadata))
	r.Group(func(r chi.Router) {
		r.Use(withTimeLimit)
		r.Post("/v1/oauth2/token", s.oauth(s.token))
		r.Post("/v1/oauth2/revoke", s.oauth(s.revoke))
		r.Post("/v1/oauth2/device", s.oauth(s.beginDevice))
	})

	// With a token in the first message.
	r.With(s.limitAddress(ratelimit.KindConnection)).Get("/v1/live", s.handle(s.Live.serve))

	// Authenticated. Each call has a class for the limits. Package scope lists the calls that connections may make.
	r.Group(func(r chi.Router) {
		r.Use(withTimeLimit, s.withActor)
		r.With(s.withOrigin).Post("/v1/signout", s.call(reads, s.signOut))
		r.Get("/v1/me", s.call(reads, s.me))
		r.Get("/v1/me/usage", s.call(reads, s.myUsage))

		r.Get("/v1/guidance", s.call(reads, s.getGuidance))
		r.Put("/v1/guidance/dictation", s.call(writes, withBody(s.putDictation)))
		r.Put("/v1/guidance/about", s.call(writes, withBody(s.putAbout)))
		r.Put("/v1/guidance/instructions", s.call(writes, withBody(s.putInstructions)))

		r.Get("/v1/model", s.call(reads, s.getModelChoice))
		r.Get("/v1/organization/model", s.call(reads, withView(s.Models.Settings, toOrganizationModels)))
		r.Put("/v1/organization/model", s.call(writes, withBody(s.putOrganizationModels)))

		r.Get("/v1/extension", s.call(reads, s.getExtension))

		r.Get("/v1/session", s.call(reads, s.listSessions))
		r.Delete("/v1/session", s.call(writes, s.endOtherSessions))
		r.Delete("/v1/session/{session_id}", s.call(writes, s.endSession))

		r.Get("/v1/oauth2/grant", s.call(reads, s.getGrant))
		r.Post("/v1/oauth2/grant", s.call(writes, withBody(s.grant)))
		r.Get("/v1/oauth2/device", s.call(reads, s.getDevice))
		r.Put("/v1/oauth2/device", s.call(writes, withBody(s.answerDevice)))
		r.Get("/v1/connection", s.call(reads, s.listConnections))
		r.Post("/v1/connection/token", s.call(secures, withBody(s.createToken)))
		r.Delete("/v1/connection/{connection_id}", s.call(writes, s.endConnection))
		r.Get("/v1/organization/connection", s.call(reads, withPage(s.listOrganizationConnections)))
		r.Delete("/v1/organization/connection/{connection_id}", s.call(writes, s.endOrganizationConnection))
		r.Get("/v1/connection-policy", s.call(reads, s.getConnectionPolicy))
		r.Put("/v1/connection-policy", s.call(secures, withBody(s.putConnectionPolicy)))

		r.Get("/v1/category", s.call(reads, s.listCategories))
		r.Post("/v1/category", s.call(writes, withBody(s.createCategory)))
		r.Put("/v1/category/order", s.call(writes, withBody(s.orderCategories)))
		r.Put("/v1/category/{category_id}", s.call(writes, withBody(s.renameCategory)))
		r.Delete("/v1/category/{category_id}", s.call(writes, s.removeCategory))
		r.Get("/v1/skill", s.call(reads, withPage(s.listSkills)))
		r.Post("/v1/skill", s.call(writes, withBody(s.createSkill)))
		r.Get("/v1/skill/library", s.call(reads, s.listMadeSkills))
		r.Get("/v1/skill/hidden", s.call(reads, s.listHiddenSkills))
		r.Post("/v1/skill/import", s.call(writes, withBody(s.readSkills)))
		r.Post("/v1/skill/try", s.call(writes, withBody(s.trySkill)))
		r.Get("/v1/skill/request", s.call(reads, withPage(s.listSkillRequests)))
		r.Get("/v1/skill/request/{skill_request_id}", s.call(reads, s.getSkillRequest))
		r.Put("/v1/skill/request/{skill_request_id}", s.call(writes, withBody(s.decideSkillRequest)))
		r.Get("/v1/skill/{skill_id}", s.call(reads, s.getSkill))
		r.Put("/v1/skill/{skill_id}", s.call(writes, withBody(s.changeSkill)))
		r.Delete("/v1/skill/{skill_id}", s.call(writes, s.archiveSkill))
		r.Get("/v1/skill/{skill_id}/content", s.call(reads, s.getSkillContent))
		r.Post("/v1/skill/{skill_id}/restore", s.call(writes, s.restoreSkill))
		r.Post("/v1/skill/{skill_id}/copy", s.call(writes, withBody(s.copySkill)))
		r.Get("/v1/skill/{skill_id}/version", s.call(reads, withPage(s.listSkillVersions)))
		r.Get("/v1/skill/{skill_id}/version/{version}", s.call(reads, s.getSkillVersion))
		r.Get("/v1/skill/{skill_id}/export", s.as(reads, s.exportSkill))
		r.Put("/v1/skill/{skill_id}/request", s.call(writes, withBody(s.requestSkill)))
		r.Delete("/v1/skill/{skill_id}/request", s.call(writes, s.withdrawSkillRequest))
		r.Put("/v1/skill/{skill_id}/hidden", s.call(writes, withBody(s.hideSkill)))
		r.Get("/v1/favorite_skill", s.call(reads, withPage(s.listFavoriteSkills)))
		r.Post("/v1/favorite_skill", s.call(writes, withBody(s.addFavoriteSkill)))
		r.Delete("/v1/favorite_skill", s.call(writes, withBody(s.removeFavoriteSkill)))

		r.Get("/v1/saml-config", s.call(reads, withView(s.SAML.View, toSAMLConfig)))
		r.Put("/v1/saml-config", s.call(secures, withBody(s.putSAMLConfig)))
		r.Put("/v1/saml-config/on", s.call(secures, withView(s.SAML.TurnOn, toSAMLConfig)))
		r.Put("/v1/saml-config/off", s.call(secures, withView(s.SAML.TurnOff, toSAMLConfig)))
		r.Post("/v1/saml-config/test", s.call(writes, s.testSAML))
		r.Get("/v1/saml-config/test/{test_id}", s.call(reads, s.getSAMLTest))

		r.Get("/v1/oidc-config", s.call(reads, withView(s.OIDC.View, toOIDCConfig)))
		r.Put("/v1/oidc-config", s.call(secures, withBody(s.putOIDCConfig)))
		r.Put("/v1/oidc-config/on", s.call(secures, withView(s.OIDC.TurnOn, toOIDCConfig)))
		r.Put("/v1/oidc-config/off", s.call(secures, withView(s.OIDC.TurnOff, toOIDCConfig)))
		r.Post("/v1/oidc-config/test", s.call(writes, s.testOIDC))

		r.Get("/v1/scim-config", s.call(reads, withView(s.SCIM.View, toSCIMConfig)))
		r.Get("/v1/scim-config/call", s.call(reads, s.listSCIMCalls))
		r.Post("/v1/scim-config/token", s.call(secures, withBody(s.addSCIMToken)))
		r.Delete("/v1/scim-config/token/{token_id}", s.call(secures, s.revokeSCIMToken))

		r.Get("/v1/slack-config", s.call(reads, s.getSlackConfig))
		r.Delete("/v1/slack-config", s.call(writes, s.deleteSlackConfig))
		r.Get("/v1/slack-config/manifest", s.call(reads, s.getSlackManifest))
		r.Post("/v1/slack-config/install", s.call(writes, s.installSlack))
		r.Get("/v1/slack-config/link", s.call(reads, withPage(s.listSlackLinks)))
		r.Delete("/v1/user/{user_id}/slack-link", s.call(writes, s.unlinkSlackMember))
		r.Post("/v1/slack-link", s.call(writes, withBody(s.linkSlack)))
		r.Delete("/v1/slack-link", s.call(writes, s.unlinkSlack))

		r.Get("/v1/tool", s.call(reads, s.listTools))
		r.Get("/v1/tool-server", s.call(reads, s.listToolServers))
		r.Post("/v1/tool-server", s.call(secures, withBody(s.addToolServer)))
		r.Put("/v1/tool-server/{tool_server_id}", s.call(secures, withBody(s.editToolServer)))
		r.Delete("/v1/tool-server/{tool_server_id}", s.call(writes, s.removeToolServer))
		r.Put("/v1/tool-server/{tool_server_id}/tool/{tool_name}", s.call(secures, withBody(s.editTool)))
		r.Post("/v1/tool-server/{tool_server_id}/tool/{tool_name}/accept", s.call(secures, withBody(s.acceptTool)))
		r.Get("/v1/tool-connection", s.call(reads, s.listToolConnections))
		r.Delete("/v1/tool-server/{tool_server_id}/connection", s.call(writes, s.disconnectToolServer))

		r.Get("/v1/notification", s.call(reads, withPage(s.listNotifications)))
		r.Put("/v1/notification/read", s.call(writes, withBody(s.readNotifications)))
		r.Post("/v1/notification", s.call(writes, withBody(s.addNotification)))
		r.Get("/v1/notification/{notification_id}", s.call(reads, s.getNotification))
		r.Put("/v1/notification/{notification_id}", s.call(writes, withBody(s.editNotification)))
		r.Delete("/v1/notification/{notification_id}", s.call(writes, s.deleteNotification))
		r.Post("/v1/notification/{notification_id}/end", s.call(writes, s.endNotification))
		r.Get("/v1/organization/notification", s.call(reads, withPage(s.listOrganizationNotifications)))

		r.Get("/v1/contract", s.call(reads, withView(s.Org.Contract, toContract)))
		r.Get("/v1/contract/usage/member", s.call(reads, withPage(s.listMemberUsage)))
		r.Get("/v1/contract/usage/model", s.call(reads, s.listModelUsage))
		r.Get("/v1/contract/usage/tool", s.call(reads, s.listToolUsage))
		r.Get("/v1/user", s.call(reads, s.listUsers))
		r.Post("/v1/user/invite", s.call(mails, withBody(s.inviteUsers)))
		r.Post("/v1/user/invite/resend", s.call(mails, withBody(s.resendInvitation)))
		r.Put("/v1/user/{user_id}", s.call(writes, withBody(s.editUser)))
		r.Delete("/v1/user/{user_id}", s.call(writes, s.removeUser))
		r.Get("/v1/user/{user_id}/removal", s.call(reads, s.previewRemoval))
		r.Delete("/v1/user/{user_id}/sso-link", s.call(secures, s.unlinkUser))
		r.Delete("/v1/user/{user_id}/session", s.call(writes, s.endMemberSessions))
		r.Delete("/v1/user/{user_id}/factor", s.call(secures, s.resetMemberFactor))
		r.Get("/v1/retention", s.call(reads, s.getRetention))
		r.Put("/v1/retention", s.call(secures, withBody(s.putRetention)))
		r.Get("/v1/retention/preview", s.call(reads, s.previewRetention))
		r.Get("/v1/retention/thread", s.call(reads, withPage(s.listLeavingThreads)))
		r.Get("/v1/group", s.call(reads, s.listGroups))
		r.Post("/v1/group", s.call(writes, withBody(s.addGroup)))
		r.Get("/v1/group/{group_id}", s.call(reads, s.getGroup))
		r.Put("/v1/group/{group_id}", s.call(writes, withBody(s.editGroup)))
		r.Delete("/v1/group/{group_id}", s.call(writes, s.deleteGroup))
		r.Put("/v1/group/{group_id}/member", s.call(writes, withBody(s.changeGroupMembers)))
		r.Get("/v1/project", s.call(reads, s.listProjects))
		r.Post("/v1/project", s.call(writes, withBody(s.createProject)))
		r.Get("/v1/project/all", s.call(reads, s.listAllProjects))
		r.Get("/v1/project/{project_id}", s.call(reads, s.getProject))
		r.Put("/v1/project/{project_id}", s.call(writes, withBody(s.editProject)))
		r.Delete("/v1/project/{project_id}", s.call(writes, s.deleteProject))
		r.Post("/v1/project/{project_id}/restore", s.call(writes, s.restoreProject))
		r.Put("/v1/project/{project_id}/archive", s.call(writes, withBody(s.archiveProject)))
		r.Get("/v1/project/{project_id}/grant", s.call(reads, s.getProjectGrants))
		r.Put("/v1/project/{project_id}/grant", s.call(writes, withBody(s.setProjectGrants)))
		r.Post("/v1/project/{project_id}/leave", s.call(writes, s.leaveProject))
		r.Get("/v1/project/{project_id}/channel", s.call(reads, s.listProjectChannels))
		r.Delete("/v1/project/{project_id}/channel/{channel_id}", s.call(writes, s.unbindProjectChannel))
		r.Get("/v1/project/{project_id}/subject", s.call(reads, s.listProjectSubjects))
		r.Post("/v1/project/{project_id}/manager", s.call(writes, withBody(s.nameProjectManager)))
		r.Get("/v1/project/{project_id}/usage", s.call(reads, s.getProjectUsage))
		r.Get("/v1/project/{project_id}/search", s.call(reads, s.searchProject))
		r.Get("/v1/project/{project_id}/data-source", s.call(reads, s.listProjectDataSources))
		r.Post("/v1/project/{project_id}/data-source", s.call(writes, withBody(s.addProjectDataSources)))
		r.Delete("/v1/project/{project_id}/data-source/{data_source_id}", s.call(writes, s.removeProjectDataSource))
		r.Get("/v1/member-limit", s.call(reads, s.getMemberLimit))
		r.Put("/v1/member-limit", s.call(writes, withBody(s.putMemberLimit)))
		r.Get("/v1/session-limits", s.call(reads, withView(s.Org.SessionLimits, toSessionLimits)))
		r.Put("/v1/session-limits", s.call(secures, withBody(s.putSessionLimits)))
		r.Get("/v1/factor-policy", s.call(reads, s.getFactorPolicy))
		r.Put("/v1/factor-policy", s.call(secures, withBody(s.putFactorPolicy)))
		r.Get("/v1/address-range", s.call(reads, s.getAddressRanges))
		r.Put("/v1/address-range", s.call(secures, withBody(s.putAddressRanges)))
		r.Get("/v1/audit", s.call(reads, s.listAuditEvents))
		r.Get("/v1/organization/state", s.call(reads, s.getOrganizationState))

		r.Get("/v1/thread", s.call(reads, s.listThreads))
		r.Post("/v1/thread", s.call(writes, withBody(s.createThread)))
		r.Get("/v1/thread/{thread_id}", s.call(reads, s.getThread))
		r.Put("/v1/thread/{thread_id}", s.call(writes, withBody(s.editThread)))
		r.Delete("/v1/thread/{thread_id}", s.call(writes, s.deleteThread))
		r.Put("/v1/thread/{thread_id}/touch", s.call(writes, s.touchThread))
		r.Put("/v1/thread/{thread_id}/project", s.call(writes, withBody(s.moveThread)))
		r.Get("/v1/thread/{thread_id}/audience", s.call(reads, s.getThreadAudience))

		r.Put("/v1/thread/{thread_id}/share", s.call(writes, withBody(s.shareThread)))
		r.Get("/v1/share", s.call(reads, s.listShares))
		r.Get("/v1/share/{share_id}", s.call(reads, s.getShare))
		r.Delete("/v1/share/{share_id}", s.call(writes, s.endShare))
		r.Get("/v1/share/{share_id}/message", s.call(reads, withPage(s.listSharedMessages)))
		r.Post("/v1/share/{share_id}/thread", s.call(writes, withBody(s.copyShare)))
		r.Get("/v1/organization/share", s.call(reads, withPage(s.listOrganizationShares)))

		r.Post("/v1/thread/{thread_id}/data-source-preprocess", s.call(writes, withBody(s.preprocess)))
		r.Get("/v1/data-source", s.call(reads, s.listDataSources))
		r.Get("/v1/data-source/{data_source_id}", s.call(reads, s.getDataSource))
		r.Get("/v1/data-source/{data_source_id}/passage", s.call(reads, s.listPassages))
		r.Delete("/v1/data-source/{data_source_id}", s.call(writes, s.deleteDataSource))
		r.Post("/v1/data-source/{data_source_id}/stop", s.call(writes, s.stopDataSource))
		r.Post("/v1/data-source/{data_source_id}/read", s.call(writes, s.readDataSource))

		r.Delete("/v1/picture/{picture_id}", s.call(writes, s.deletePicture))

		r.Get("/v1/models", s.call(reads, s.listModels))
		r.Get("/v1/models/{model}", s.call(reads, s.getModel))
		r.Get("/v1/message", s.call(reads, s.listMessages))
		r.Post("/v1/message/async", s.call(asks, s.askMessage))
		r.Post("/v1/message/{message_id}/stop", s.call(reads, s.stopMessage))
		r.Delete("/v1/message/{message_id}/queue", s.call(writes, s.cancelWaitingQuestion))
		r.Put("/v1/message/{message_id}/decision", s.call(writes, withBody(s.decideChanges)))
		r.Get("/v1/tool-call", s.call(reads, s.listToolCalls))
		r.Post("/v1/tool-call/{tool_call_id}/decision", s.call(writes, withBody(s.decideToolCall)))
		r.Post("/v1/message_feedback", s.call(writes, withBody(s.giveFeedback)))
		r.Delete("/v1/message_feedback/{message_id}", s.call(writes, s.withdrawFeedback))
		r.Get("/v1/organization/feedback", s.call(reads, s.listOrganizationFeedback))
		r.Get("/v1/organization/feedback/skill", s.call(reads, s.listSkillFeedback))
		r.Get("/v1/organization/feedback/{message_id}", s.call(reads, s.getOrganizationFeedback))
	})

	// Authenticated. These routes call Slack, which may take longer than the database.
	r.Group(func(r chi.Router) {
		r.Use(withSlackLimit, s.withActor)
		r.Put("/v1/slack-config", s.call(writes, withBody(s.putSlackConfig)))
		r.Post("/v1/slack-config/test", s.call(writes, s.testSlack))
		r.Get("/v1/slack-link", s.call(reads, s.getSlackLink))
	})

	// Authenticated, with calls of tool servers and their authorization servers.
	r.Group(func(r chi.Router) {
		r.Use(withToolLimit, s.withActor)
		r.Post("/v1/tool-server/{tool_server_id}/discover", s.call(writes, s.discoverTools))
		r.Post("/v1/tool-server/{tool_server_id}/connection", s.call(writes, s.connectToolServer))
	})
	r.With(withToolLimit, s.limitAddress(ratelimit.KindSignIn)).
		Get("/v1/tool-connection/{tool_server_id}/callback", s.handle(s.toolConnected))

	// Authenticated, without a time limit for the answer.
	r.With(s.withActor).Post("/v1/message/sync", s.call(waits, s.askMessageAndWait))
	r.With(s.withActor).Post("/v1/chat/completions", s.as(waits, s.completeChat))
	r.With(s.withActor).Post("/v1/responses", s.as(waits, s.createResponse))
	r.With(s.withActor).Post("/v1/message/{message_id}/suggestion", s.call(prepares, s.suggestQuestions))
	r.With(s.withActor).Post("/v1/thread/{thread_id}/data-source-preprocess-sync",
		s.call(prepares, withBody(s.preprocessAndWait)))
	r.With(sse.HalfClose, s.withAsker).Post("/v1/message/stream", s.as(waits, s.streamMessage))
	r.Group(func(r chi.Router) {
		r.Use(sse.HalfClose, s.withActor)
		r.Get("/v1/message/{message_id}/stream", s.as(follows, s.attachMessage))
		r.Get("/v1/thread/{thread_id}/stream", s.as(follows, s.attachThread))
		r.Post("/external/chrome_extension/v1/chat/completion/stream", s.as(waits, s.streamChatCompletion))
	})

	// Authenticated, with a longer time limit for files.
	r.Group(func(r chi.Router) {
		r.Use(s.withActor)
		r.Post("/v1/data-source/file", s.call(uploads, s.uploadDataSource))
		r.Post("/v1/picture", s.call(uploads, s.uploadPicture))
		r.Get("/v1/picture/{picture_id}", s.as(downloads, s.showPicture))
		r.Post("/external/chrome_extension/v1/page/file", s.call(uploads, s.readPageFile))
		r.Get("/v1/me/export", s.as(exports, s.exportOwnData))
		r.Get("/v1/contract/usage/csv", s.as(reports, s.exportUsage))
		r.Get("/v1/user/csv", s.as(reports, s.exportMembers))
		r.Get("/v1/audit/csv", s.as(reports, s.exportAudit))
		r.Get("/v1/organization/feedback/csv", s.as(reports, s.exportFeedback))
		r.Get("/v1/data-source/file/{data_source_id}", s.as(downloads, s.downloadDataSource))
		r.Get("/v1/message/{message_id}/docx", s.as(downloads, s.downloadDocx))
		r.Get("/v1/data-source/{data_source_id}/page/{page}", s.as(downloads, s.showDataSourcePage))
		r.Get("/v1/data-source-chunk-embedding/{chunk_embedding_id}", s.call(downloads, s.getChunkEmbedding))
	})

	// The Model Context Protocol. The calls of a message are limited by its kind.
	r.Get(mcpPath, s.handle(refuseMCPStream))
	r.With(s.withActor).Post(mcpPath, s.as(reads, s.newMCP().serve))

	// Provisioning by identity providers, in its own protocol. A client authenticates with a token of its organization.
	r.With(withSCIMLimit).Mount(scim.Path, s.scimHandler())

	// The user pool's own protocol, and the app with its client-side routes.
	if s.Pool != nil {
		r.With(withTimeLimit, s.limitPool, s.withOrigin).Mount("/pool", s.Pool)
	}
	app, err := newApp(s.App, s.cfg)
	if err != nil {
		return nil, err
	}
	r.Get("/*", s.handle(app.serve))
	r.MethodNotAllowed(s.handle(func(w http.ResponseWriter, req *http.Request) error { return noMethod(r, w, req) }))
	return r, nil
}
