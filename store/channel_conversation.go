package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

func (db *DB) FindConversation(ctx context.Context, installationID uuid.UUID, owner identity.Owner, in, thread string) (
	*uuid.UUID, error,
) {
	var id uuid.UUID
	err := db.pool.QueryRow(ctx, `
		SELECT thread_id
		FROM channel_threads
		WHERE installation_id = $1 AND organization_id = $2 AND user_id = $3 AND channel = $4 AND thread = $5`,
		installationID, owner.OrganizationID, owner.UserID, in, thread).Scan(&id)
	return nilIfNoRow(&id, err)
}

// nilIfNoRow returns a pointer to the row, or nil if err means that there is no row.
func nilIfNoRow[T any](value *T, err error) (*T, error) {
	switch {
	case isNoRows(err):
		return nil, nil //nolint:nilnil // A missing row is not an error.
	case err != nil:
		return nil, translate(err)
	}
	return value, nil
}

func (db *DB) AddDelivery(ctx context.Context, d channel.Delivery, lease time.Duration) (added bool, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO channel_deliveries (answer_id, organization_id, user_id, thread_id, question_id, installation_id,
			                                channel, thread, message, person, person_team, direct, progress, claim,
			                                claimed_until)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now() + $15::interval)
			ON CONFLICT (answer_id) DO NOTHING`,
			d.AnswerID, d.OrganizationID, d.UserID, d.ThreadID, d.QuestionID, d.InstallationID, d.Channel, d.Thread,
			d.Message, d.Person, d.PersonTeam, d.Direct, d.Progress, d.Claim, lease)
		if added = tag.RowsAffected() > 0; err != nil || !added {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO channel_threads (installation_id, organization_id, channel, thread, user_id, thread_id)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (installation_id, channel, thread, user_id) DO UPDATE SET thread_id = excluded.thread_id`,
			d.InstallationID, d.OrganizationID, d.Channel, d.Thread, d.UserID, d.ThreadID)
		return err
	})
	return added, err
}

// deliveryColumns are the columns of a channel.Delivery.
const deliveryColumns = `answer_id, organization_id, user_id, thread_id, question_id, installation_id, channel, thread,
	message, person, person_team, direct, progress, ended_at IS NOT NULL AS ended,
	coalesce(claim, '00000000-0000-0000-0000-000000000000') AS claim`

func (db *DB) FindDelivery(ctx context.Context, organizationID, installationID, answerID uuid.UUID) (
	*channel.Delivery, error,
) {
	d, err := queryRow[channel.Delivery](ctx, db.pool, `
		SELECT `+deliveryColumns+`
		FROM channel_deliveries
		WHERE organization_id = $1 AND installation_id = $2 AND answer_id = $3`, organizationID, installationID, answerID)
	return nilIfNoRow(&d, err)
}

func (db *DB) ListDeliveries(ctx context.Context, organizationID, installationID uuid.UUID, in string,
	message channel.Ref,
) ([]channel.Delivery, error) {
	list, err := queryRows[channel.Delivery](ctx, db.pool, `
		SELECT `+deliveryColumns+`
		FROM channel_deliveries
		WHERE organization_id = $1 AND installation_id = $2 AND channel = $3 AND message = $4 AND message <> ''
		ORDER BY created_at DESC, answer_id DESC
		LIMIT 100`, organizationID, installationID, in, message)
	return list, translate(err)
}

func (db *DB) LastDelivery(ctx context.Context, organizationID, installationID uuid.UUID, in, thread, person string) (
	*channel.Delivery, error,
) {
	d, err := queryRow[channel.Delivery](ctx, db.pool, `
		SELECT `+deliveryColumns+`
		FROM channel_deliveries
		WHERE organization_id = $1 AND installation_id = $2 AND channel = $3 AND thread = $4 AND person = $5
		ORDER BY created_at DESC, answer_id DESC
		LIMIT 1`, organizationID, installationID, in, thread, person)
	return nilIfNoRow(&d, err)
}

func (db *DB) FindFile(ctx context.Context, installationID uuid.UUID, owner identity.Owner, fileID string) (*uuid.UUID,
	error,
) {
	var id uuid.UUID
	err := db.pool.QueryRow(ctx, `
		SELECT data_source_id
		FROM channel_files
		WHERE installation_id = $1 AND organization_id = $2 AND user_id = $3 AND file_id = $4`,
		installationID, owner.OrganizationID, owner.UserID, fileID).Scan(&id)
	return nilIfNoRow(&id, err)
}

func (db *DB) AddFile(ctx context.Context, installationID uuid.UUID, owner identity.Owner, fileID string,
	sourceID uuid.UUID,
) error {
	_, err := db.pool.Exec(ctx, `
		INSERT INTO channel_files (installation_id, organization_id, user_id, file_id, data_source_id)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (installation_id, user_id, file_id) DO UPDATE SET data_source_id = excluded.data_source_id`,
		installationID, owner.OrganizationID, owner.UserID, fileID, sourceID)
	return translate(err)
}
