package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
)

// forgetQuotes removes a deleted data source from the citations of its owner's answers, and thereby from their shares:
// name, place and quote. Where an answer cites it, its number is kept. Passages that were only consulted are removed.
func forgetQuotes(ctx context.Context, tx pgx.Tx, owner datasource.Owner, id uuid.UUID) error {
	_, err := tx.Exec(ctx, `
		UPDATE messages m
		SET citations = (
		    SELECT coalesce(jsonb_agg(
		        CASE WHEN c->>'data_source_id' = $3::text
		             THEN jsonb_build_object('index', c->'index', 'filename', $4::text, 'page', 0, 'score', 0,
		                 'quote', '', 'support', c->'support', 'deleted', true)
		             ELSE c END ORDER BY place), '[]')
		    FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS listed (c, place)
		    WHERE c->>'data_source_id' IS DISTINCT FROM $3::text OR c ? 'support')
		FROM threads t
		WHERE t.organization_id = $1 AND t.user_id = $2 AND m.thread_id = t.id AND m.organization_id = $1
		  AND m.citations @> jsonb_build_array(jsonb_build_object('data_source_id', $3::text))`,
		owner.OrganizationID, owner.UserID, id.String(), chat.DeletedFile)
	return err
}
