package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oauth"
)

var _ identity.Store = (*DB)(nil)

// userBySubjectSQL reads an identity.UserStatus. It searches all organizations, because the user determines the
// organization.
var userBySubjectSQL = `
	SELECT u.id, u.organization_id, o.name AS organization_name, u.subject, u.email, u.name,
	       u.role, ` + memberState + ` AS state, u.auth_type,
	    o.auth_type AS organization_auth_type, s.used_at AS session_used_at,
	    coalesce(` + sessionEnded("$3::timestamptz", "$4::text") + `, false) AS session_over,
	    g.authenticated_at, CASE $5
	        WHEN '' THEN o.address_ranges
	        WHEN '` + oauth.Personal + `' THEN coalesce(o.api_address_ranges, o.address_ranges)
	        ELSE coalesce(o.connection_address_ranges, o.address_ranges)
	    END AS address_ranges
	FROM users u
	JOIN organizations o ON o.id = u.organization_id
	LEFT JOIN pool_grants g ON g.id = $2
	LEFT JOIN sessions s ON s.id = $2 AND s.user_id = u.id
	WHERE u.subject = $1`

// UserBySubject implements identity.Store. With a context of PrefetchThreadState, it also reads the state of the thread.
func (db *DB) UserBySubject(ctx context.Context, claims identity.Claims) (identity.UserStatus, error) {
	var users []identity.UserStatus
	var rows *threadRows
	early := startPrefetch(ctx)
	err := send(ctx, db.pool, func(batch *pgx.Batch) {
		batch.Queue(userBySubjectSQL, claims.Subject, claims.Session, claims.AuthTime, claims.AuthType,
			claims.Client).Query(collect(&users))
		if early == nil {
			return
		}
		if owner, known := db.owners.Get(claims.Subject); known {
			rows = &threadRows{owner: owner}
			rows.queue(batch, early.request)
		}
	})
	switch {
	case err != nil:
		return identity.UserStatus{}, err
	case len(users) == 0:
		return identity.UserStatus{}, fault.Errorf(fault.NotFound, "ユーザーが見つかりません。")
	}
	user := users[0]
	if early != nil {
		early.rows.Store(rows)
		db.owners.Put(claims.Subject, identity.Owner{OrganizationID: user.OrganizationID, UserID: user.ID}, len(claims.Subject))
	}
	return user, nil
}

// ChangedUsers implements identity.Store. It searches all organizations, because a server has streams of members of
// several.
func (db *DB) ChangedUsers(ctx context.Context, userIDs []uuid.UUID, within time.Duration) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, db.pool, `
		SELECT p.id
		FROM unnest($1::uuid[]) AS p(id)
		LEFT JOIN users u ON u.id = p.id
		LEFT JOIN organizations o ON o.id = u.organization_id
		WHERE u.id IS NULL OR `+memberState+` <> 'active'
		   OR greatest(u.changed_at, o.changed_at, o.access_changed_at) > now() - $2::interval OR u.subject IN (
		    SELECT g.sub::text FROM pool_grants g WHERE g.revoked_at > now() - $2::interval)
		    OR EXISTS (SELECT FROM sessions s WHERE s.organization_id = u.organization_id AND s.user_id = u.id
		               AND s.ended_at > now() - $2::interval)`, userIDs, within)
}

func (db *DB) CreateUser(ctx context.Context, u identity.NewUser) error {
	return insertUser(ctx, db.pool, u)
}

func insertUser(ctx context.Context, q querier, u identity.NewUser) error {
	err := exec(ctx, q, `
		INSERT INTO users (id, organization_id, subject, email, name, role, auth_type)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		u.ID, u.OrganizationID, u.Subject, u.Email, u.Name, u.Role, u.AuthType)
	switch {
	case hasCode(err, codeUnique):
		return fault.Wrap(err, fault.Conflict, "このユーザーはすでに登録されています。")
	case hasCode(err, codeForeignKey):
		return fault.Wrap(err, fault.NotFound, "組織が見つかりません。")
	case hasCode(err, codeCheck):
		return fault.Wrap(err, fault.Invalid, "ユーザーの内容が正しくありません。")
	}
	return err
}

func (db *DB) MarkSignedIn(ctx context.Context, userID uuid.UUID) error {
	return exec(ctx, db.pool, `
		UPDATE users
		SET last_signed_in_at = now()
		WHERE id = $1 AND (last_signed_in_at IS NULL
		    OR last_signed_in_at < greatest(invited_at, now() - interval '1 minute'))`, userID)
}

// ProviderByMailDomain implements identity.Store. If several organizations have the domain, it uses the oldest one.
func (db *DB) ProviderByMailDomain(ctx context.Context, domain string) (identity.Provider, error) {
	return findRow[identity.Provider](ctx, db.pool, fault.Errorf(fault.NotFound, "組織が見つかりません。"), `
		SELECT c.id AS organization_id, c.auth_type
		FROM (
		    (SELECT 1 AS choice, o.id, o.auth_type FROM organizations o
		     WHERE o.mail_domains @> ARRAY[$1::text] ORDER BY o.created_at, o.id LIMIT 1)
		    UNION ALL
		    (SELECT 2 AS choice, o.id, $2::text AS auth_type FROM organizations o
		     ORDER BY o.auth_type <> $2::text, o.created_at, o.id LIMIT 1)
		) c
		ORDER BY c.choice
		LIMIT 1`, domain, identity.AuthCognito)
}
