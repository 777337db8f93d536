// Package store stores everything persistent in PostgreSQL. It implements the Store interfaces that the domains
// declare, and migrates the schema.
//
// It imports the domains and fault, pgx, and the migrations; only cmd sees both it and the services. An exported method
// is one transaction; a method with a single statement needs no explicit one. Helpers take a pgx.Tx. Queries on a
// tenant's rows name the organization, even where an id alone would do.
//
// # Methods by domain
//
// Each method of [DB] implements a method of a domain's Store, whose comment describes it. The files of the domains are:
//
//   - chat: chat.go (threads), message.go, generation.go (begin and end of answers), takeover.go (leases,
//     checkpoints), tool.go, search.go, share.go, feedback.go (ratings and decisions), retention.go, note.go (for
//     package ground)
//   - datasource: source.go, source_index.go (passages), reading.go (queue), embedding.go
//   - picture: picture.go
//   - project: project.go, project_grant.go, project_source.go, project_channel.go, project_lifecycle.go
//   - skill: skill.go, category.go, library.go, library_save.go, library_request.go, skill_import.go
//   - org: org.go (settings), contract.go (also usage), tool_usage.go, member.go, invite.go, notice.go, audit.go, operator.go,
//     deletion.go
//   - identity: identity.go, session.go
//   - identity/oauth: oauth.go
//   - identity/sso: sso.go
//   - identity/saml: saml.go
//   - identity/oidc: oidc.go
//   - scim: scim.go
//   - siem: audit_sink.go
//   - identity/pool: pool.go, pool_event.go, pool_factor.go, pool_passkey.go
//   - channel: channel_installation.go, channel_link.go, channel_intake.go, channel_conversation.go, channel_delivery.go
//   - toolserver: tool_server.go, tool_connection.go
//   - crx: secret.go
//
// The others serve all domains: store.go (connections, transactions), query.go (rows and statements), group.go (groups
// of transactions), errors.go, listen.go (notifications), secret.go (encryption), export.go (records
// of an export), migrate.go, health.go.
package store
