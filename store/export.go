package store

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Paths of files in an export.
const (
	exportedFile    = `'files/' || d.id || lower(coalesce(substring(d.filename FROM '\.[A-Za-z0-9]{1,8}$'), ''))`
	exportedPicture = `'pictures/' || p.id || CASE p.media_type WHEN 'image/png' THEN '.png' ELSE '.jpg' END`
)

// exports are the records of an export by their kind. Each query selects the records of the organization $1. tables are
// the tables whose data they contain.
var exports = []struct {
	kind   string
	tables []string
	sql    string
}{
	{"organization", []string{"organizations", "contracts"}, `
		SELECT o.id, o.name, o.auth_type, o.sso_protocol, o.mail_domains, o.created_at, o.instructions, o.models,
		       o.member_tokens, o.personal_tokens, o.dictation_service, o.address_ranges, o.api_address_ranges,
		       o.connection_address_ranges, o.retention_days, o.sso_idle_minutes,
		       o.sso_max_minutes, o.password_idle_minutes,
		       o.password_max_minutes, o.connection_idle_minutes, o.factor_policy, c.plan, c.status, c.seats, c.tokens, c.storage,
		       c.starts_on, c.ends_on
		FROM organizations o
		JOIN contracts c ON c.organization_id = o.id
		WHERE o.id = $1`},
	{"members", []string{"users", "profiles"}, `
		SELECT u.id, u.email, u.name, u.role, u.state, u.auth_type, u.invited_at, u.last_signed_in_at, u.created_at,
		       u.limit_rule, u.limit_tokens, p.name AS about_name, p.department AS about_department,
		       p.tone AS about_tone, p.signature AS about_signature
		FROM users u
		LEFT JOIN profiles p ON p.user_id = u.id
		WHERE u.organization_id = $1
		ORDER BY u.id`},
	{"groups", []string{"member_groups", "group_members"}, `
		SELECT g.id, g.name, g.description, g.source, g.external_id, g.token_limit, g.created_at,
		       ARRAY (SELECT k.user_id FROM group_members k WHERE k.group_id = g.id ORDER BY 1) AS member_ids
		FROM member_groups g
		WHERE g.organization_id = $1
		ORDER BY g.id`},
	{"projects", []string{"projects", "project_grants", "project_sources", "project_channels"}, `
		SELECT p.id, p.name, p.description, p.instructions, p.skill_id, p.version, p.archived_at, p.deleted_at,
		       p.retention_days, p.storage_limit, p.created_at, p.updated_at,
		       (SELECT coalesce(jsonb_agg(jsonb_build_object('member_id', g.user_id, 'group_id', g.group_id, 'role', g.role,
		                                                     'granted_at', g.granted_at) ORDER BY g.granted_at), '[]')
		        FROM project_grants g WHERE g.project_id = p.id) AS grants,
		       (SELECT coalesce(jsonb_agg(jsonb_build_object('file_id', k.data_source_id, 'added_by', k.added_by,
		                                                     'added_at', k.added_at) ORDER BY k.added_at), '[]')
		        FROM project_sources k WHERE k.project_id = p.id) AS files,
		       (SELECT coalesce(jsonb_agg(jsonb_build_object('chat_service_id', k.installation_id, 'channel', k.channel,
		                                                     'name', k.name, 'bound_by', k.bound_by,
		                                                     'bound_at', k.bound_at) ORDER BY k.bound_at), '[]')
		        FROM project_channels k WHERE k.project_id = p.id) AS channels
		FROM projects p
		WHERE p.organization_id = $1
		ORDER BY p.id`},
	{"skills", []string{"skills", "skill_members", "skill_groups", "skill_documents", "hidden_skills"}, `
		SELECT s.id, s.organization_id IS NULL AS built_in, s.owner_id AS member_id, s.category_id, s.origin, s.audience,
		       s.name, s.description, s.keywords, s.icon_path, s.task_type, s.form_type, s.form_fields, s.suggestions,
		       s.examples, s.accepts_data_sources, s.answer_length, s.model, s.tools,
		       CASE WHEN s.organization_id IS NOT NULL THEN s.prompt END AS prompt, s.version, s.created_at,
		       s.updated_at, s.retired_at, s.published_from,
		       ARRAY (SELECT m.user_id FROM skill_members m WHERE m.skill_id = s.id ORDER BY 1) AS member_ids,
		       ARRAY (SELECT k.group_id FROM skill_groups k WHERE k.skill_id = s.id ORDER BY 1) AS group_ids,
		       ARRAY (SELECT k.data_source_id FROM skill_documents k WHERE k.skill_id = s.id ORDER BY k.place) AS file_ids,
		       EXISTS (SELECT FROM hidden_skills h WHERE h.organization_id = $1 AND h.skill_id = s.id) AS hidden
		FROM skills s
		WHERE s.organization_id = $1 OR s.organization_id IS NULL
		ORDER BY s.id`},
	{"skill_versions", []string{"skill_versions"}, `
		SELECT skill_id, version, user_id AS member_id, user_name AS member_name, content, created_at
		FROM skill_versions
		WHERE organization_id = $1
		ORDER BY skill_id, version`},
	{"skill_requests", []string{"skill_requests"}, `
		SELECT id, skill_id, version, user_id AS member_id, note, state, reason, created_at, decided_at
		FROM skill_requests
		WHERE organization_id = $1
		ORDER BY id`},
	{"categories", []string{"categories", "category_places"}, `
		SELECT c.id, c.organization_id IS NULL AS built_in, c.name, c.position, p.place
		FROM categories c
		LEFT JOIN category_places p ON p.organization_id = $1 AND p.category_id = c.id
		WHERE c.organization_id = $1 OR c.organization_id IS NULL
		ORDER BY c.position, c.id`},
	{"favorites", []string{"favorite_skills"}, `
		SELECT user_id AS member_id, skill_id, created_at
		FROM favorite_skills
		WHERE organization_id = $1
		ORDER BY user_id, created_at, skill_id`},
	{"threads", []string{"threads", "thread_data_sources"}, `
		SELECT t.id, t.user_id AS member_id, t.skill_id, t.title, t.instructions, t.pinned, t.archived, t.leaf_id,
		       t.project_id, t.visibility,
		       t.created_at, t.updated_at, t.touched_at, t.expires_at,
		       ARRAY (SELECT s.data_source_id FROM thread_data_sources s WHERE s.thread_id = t.id
		              ORDER BY s.attached_at, s.data_source_id) AS file_ids
		FROM threads t
		WHERE t.organization_id = $1
		ORDER BY t.id`},
	{"messages", []string{"messages", "message_pictures", "message_decisions"}, `
		SELECT m.id, m.thread_id, m.parent_id, m.author_id, m.role, m.content, m.prompt, m.form, m.params, m.reasoning,
		       m.reasoning_ms,
		       m.status, m.finish_reason, m.error_code, m.error_detail, m.model, m.model_id, m.model_name, m.thinking,
		       m.input_tokens, m.output_tokens, m.citations, m.steps, m.tool_calls, m.proofread, m.suggestions,
		       d.accepted AS accepted_changes, d.refused AS refused_changes, m.data_source_ids AS file_ids,
		       ARRAY (SELECT p.picture_id FROM message_pictures p WHERE p.message_id = m.id ORDER BY p.place) AS picture_ids,
		       m.created_at, m.completed_at
		FROM messages m
		LEFT JOIN message_decisions d ON d.message_id = m.id
		WHERE m.organization_id = $1
		ORDER BY m.thread_id, m.seq`},
	{"feedback", []string{"message_feedback"}, `
		SELECT message_id, user_id AS member_id, rating, comment, shows, created_at, updated_at
		FROM message_feedback
		WHERE organization_id = $1
		ORDER BY message_id, user_id`},
	{"shares", []string{"shares"}, `
		SELECT id, thread_id, user_id AS member_id, title, message_ids, created_at, updated_at
		FROM shares
		WHERE organization_id = $1
		ORDER BY id`},
	{"files", []string{"data_sources"}, `
		SELECT d.id, d.user_id AS member_id, d.filename, d.media_type, d.size, encode(d.sha256, 'hex') AS sha256,
		       ` + exportedFile + ` AS path, d.status, d.failure, d.notice, d.page_count, d.created_at
		FROM data_sources d
		WHERE d.organization_id = $1
		ORDER BY d.id`},
	{"pictures", []string{"pictures"}, `
		SELECT p.id, p.user_id AS member_id, p.media_type, p.width, p.height, p.size, ` + exportedPicture + ` AS path,
		       p.created_at
		FROM pictures p
		WHERE p.organization_id = $1
		ORDER BY p.id`},
	{"notices", []string{"notifications"}, `
		SELECT id, user_id AS member_id, title, body, url, level, audience, published_at, ends_at
		FROM notifications
		WHERE organization_id = $1
		ORDER BY published_at, id`},
	{"usage", []string{"usage_daily"}, `
		SELECT date, user_id AS member_id, messages, input_tokens, output_tokens
		FROM usage_daily
		WHERE organization_id = $1
		ORDER BY date, user_id`},
	{"usage_by_model", []string{"usage_models"}, `
		SELECT date, user_id AS member_id, model_id, messages, input_tokens, output_tokens
		FROM usage_models
		WHERE organization_id = $1
		ORDER BY date, user_id, model_id`},
	{"usage_by_tool", []string{"tool_usage"}, `
		SELECT message_id, ordinal, date, skill_id, tool, title, failed, duration_ms
		FROM tool_usage
		WHERE organization_id = $1
		ORDER BY date, message_id, ordinal`},
	{"audit_events", []string{"audit_events"}, `
		SELECT id, at, actor_kind, actor_id, actor_name, actor_email, action, target_kind, target_id, target_label, details,
		       host(address) AS address, request_id, times, last_at
		FROM audit_events
		WHERE organization_id = $1
		ORDER BY at, id`},
	{"single_sign_on", []string{"saml_configs"}, `
		SELECT entity_id, sso_url,
		       ARRAY (SELECT translate(encode(c, 'base64'), E'\n', '') FROM unnest(certificates) c) AS certificates,
		       email_attribute, name_attribute, email_domains, updated_at,
		       metadata_url, metadata_read_at, metadata_due_at, metadata_error
		FROM saml_configs
		WHERE organization_id = $1`},
	{"single_sign_on_oidc", []string{"oidc_configs"}, `
		SELECT issuer, client_id, scopes, email_claim, name_claim, groups_claim, prompt, acr_values, max_age,
		       email_domains, updated_at
		FROM oidc_configs
		WHERE organization_id = $1`},
	{"single_sign_on_links", []string{"federated_identities"}, `
		SELECT user_id AS member_id, protocol, entity_id, name_id, created_at
		FROM federated_identities
		WHERE organization_id = $1
		ORDER BY user_id, created_at`},
	{"provisioned_users", []string{"scim_users"}, `
		SELECT user_id AS member_id, user_name, external_id, attributes, deleted_at, created_at, updated_at
		FROM scim_users
		WHERE organization_id = $1
		ORDER BY user_id`},
	{"chat_services", []string{"channel_installations"}, `
		SELECT id, surface, team_id, enterprise_id, app_id, bot_user_id, team_name, auto_link, shared_channels, channels,
		       created_at, updated_at
		FROM channel_installations
		WHERE organization_id = $1
		ORDER BY id`},
	{"chat_service_links", []string{"channel_links"}, `
		SELECT installation_id AS chat_service_id, person, person_name, user_id AS member_id, automatic, created_at
		FROM channel_links
		WHERE organization_id = $1
		ORDER BY installation_id, person`},
	{"tool_servers", []string{"tool_servers", "tool_server_groups", "tool_server_tools"}, `
		SELECT s.id, s.key, s.name, s.url, s.auth, s.header_name, s.client_id, s.enabled, s.everyone, s.created_at,
		       s.updated_at,
		       ARRAY (SELECT k.group_id FROM tool_server_groups k WHERE k.server_id = s.id ORDER BY 1) AS group_ids,
		       (SELECT coalesce(jsonb_agg(jsonb_build_object('name', t.name, 'definition', t.accepted, 'rule', t.rule,
		                                                     'read_only', t.read_only, 'idempotent', t.idempotent)
		                                  ORDER BY t.name), '[]')
		        FROM tool_server_tools t WHERE t.server_id = s.id) AS tools
		FROM tool_servers s
		WHERE s.organization_id = $1
		ORDER BY s.id`},
	{"chat_service_threads", []string{"channel_threads"}, `
		SELECT installation_id AS chat_service_id, channel, thread, user_id AS member_id, thread_id, created_at
		FROM channel_threads
		WHERE organization_id = $1
		ORDER BY installation_id, channel, thread, user_id`},
}

// notExported are the other tables, with the reasons.
var notExported = map[string]string{
	"account_changes":         "changes that the identity provider has not received yet",
	"channel_deliveries":      "state of deliveries; the answers are messages",
	"channel_events":          "state of deliveries; the questions are messages",
	"channel_files":           "state of deliveries; the files are data sources",
	"channel_holds":           "state of servers",
	"channel_installs":        "sign-ins in progress",
	"channel_proofs":          "sign-ins in progress",
	"checkpoints":             "parts of answers in progress",
	"tool_approvals":          "requests for decisions; the messages have the decisions, and the audit log",
	"tool_permissions":        "settings of threads for further calls of tools",
	"tool_calls":              "parts of answers in progress; the messages have the calls of complete answers",
	"tool_attempts":           "sign-ins in progress",
	"tool_connections":        "secrets",
	"connection_grants":       "secrets",
	"connection_tokens":       "secrets",
	"contract_notices":        "state of notices",
	"data_source_chunks":      "derived from the files",
	"data_source_index_parts": "derived from the files",
	"audit_sinks":             "state of the installation",
	"data_source_indexes":     "derived from the files",
	"embedding_models":        "of the installation",
	"embedding_vectors":       "derived from the files",
	"embeddings":              "derived from the files",
	"extension_release":       "of the installation; a secret",
	"factor_resets":           "requests in progress; the audit log has them",
	"generations":             "state of answers in progress",
	"invite_requests":         "repeated calls; the members and the audit log have the results",
	"loose_files":             "files to remove",
	"last_backup":             "the state of the installation",
	"member_limit_notices":    "state of notices",
	"notification_reads":      "state of notices",
	"organization_deletions":  "of the installation",
	"pool_attempts":           "secrets",
	"pool_challenges":         "secrets",
	"pool_codes":              "secrets",
	"pool_devices":            "secrets",
	"pool_grants":             "secrets",
	"project_index_changes":   "derived from the files",
	"project_index_keys":      "derived from the files",
	"project_indexes":         "derived from the files",
	"project_passages":        "derived from the files",
	"pool_keys":               "of the installation; a secret",
	"pool_passkeys":           "sign-in methods; the audit log has their changes",
	"pool_recovery_codes":     "secrets",
	"pool_totp":               "secrets",
	"pool_users":              "passwords; the members have names and addresses",
	"preparations":            "repeated calls; the threads have the files",
	"reading_turns":           "state of servers",
	"saml_assertions":         "sign-ins in progress",
	"saml_codes":              "secrets",
	"saml_keys":               "of the installation; a secret",
	"saml_links":              "sign-ins in progress",
	"saml_states":             "sign-ins in progress",
	"saml_tests":              "sign-ins in progress, deleted after a day",
	"saml_warnings":           "state of notices",
	"scim_calls":              "the last calls of the identity provider; the audit log has their effects",
	"scim_tokens":             "secrets",
	"search_entries":          "derived from the messages",
	"search_pending":          "derived from the messages",
	"servers":                 "state of servers",
	"sessions":                "signed-in devices and connections; the audit log has the sign-ins",
	"signing_keys":            "of the installation; a secret",
	"summary_notes":           "derived from the files",
	"waiting_questions":       "questions in progress; they become messages",
}

// ExportKinds returns the kinds of records of an export.
func ExportKinds() []string {
	kinds := make([]string, len(exports))
	for i, e := range exports {
		kinds[i] = e.kind
	}
	return kinds
}

// ExportRecords writes the records of an organization of one kind as JSON Lines, and returns their number.
func (s *Snapshot) ExportRecords(
	ctx context.Context, kind string, organizationID uuid.UUID, w io.Writer,
) (n int, _ error) {
	for _, e := range exports {
		if e.kind == kind {
			return s.writeRows(ctx, e.sql, organizationID, w)
		}
	}
	return 0, fmt.Errorf("there is no kind of records %q", kind)
}

// writeRows writes the rows of a query as JSON Lines, without keeping them in memory.
func (s *Snapshot) writeRows(ctx context.Context, sql string, organizationID uuid.UUID, w io.Writer) (n int, _ error) {
	out := bufio.NewWriter(w)
	rows, err := s.conn.Query(ctx, `SELECT row_to_json(r)::text FROM (`+sql+`) r`, organizationID)
	if err != nil {
		return 0, err
	}
	var line string
	tag, err := pgx.ForEachRow(rows, []any{&line}, func() error {
		_, err := out.WriteString(line + "\n")
		return err
	})
	if err != nil {
		return 0, err
	}
	return int(tag.RowsAffected()), out.Flush()
}

// ExportedFile is a file of an export. The stored file has Size bytes of content after Skip other bytes.
type ExportedFile struct {
	ID         uuid.UUID
	Path       string
	Skip, Size int64
}

// ExportedFiles returns the files of an organization: data sources, and the full form of pictures.
func (s *Snapshot) ExportedFiles(ctx context.Context, organizationID uuid.UUID) ([]ExportedFile, error) {
	return queryRows[ExportedFile](ctx, s.conn, `
		SELECT d.id, `+exportedFile+` AS path, 0::bigint AS skip, d.size
		FROM data_sources d
		WHERE d.organization_id = $1
		UNION ALL
		SELECT p.id, `+exportedPicture+`, p.thumbnail_size, p.size
		FROM pictures p
		WHERE p.organization_id = $1
		ORDER BY path`, organizationID)
}

// Organization returns an organization as of the snapshot, or org.ErrNoOrganization.
func (s *Snapshot) Organization(ctx context.Context, id uuid.UUID) (org.Organization, error) {
	return findRow[org.Organization](ctx, s.conn, org.ErrNoOrganization, selectOrganization+` WHERE id = $1`, id)
}
