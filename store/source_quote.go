package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// forgetQuotes removes the name, place and quote of a deleted data source from the citations of its owner's answers,
// and thereby from their shares. A citation that the text of the answer refers to keeps its number. Passages that were
// only consulted are removed.
func forgetQuotes(ctx context.Context, tx pgx.Tx, owner identity.Owner, id uuid.UUID) error {
	return exec(ctx, tx, `
		UPDATE messages m
		SET citations = `+withoutDeleted("m.citations", "c->>'data_source_id' = $3::text")+`
		FROM threads t
		WHERE t.organization_id = $1 AND t.user_id = $2 AND m.thread_id = t.id AND m.organization_id = $1
		  AND m.citations @> jsonb_build_array(jsonb_build_object('data_source_id', $3::text))`,
		owner.OrganizationID, owner.UserID, id.String())
}

// withoutDeleted returns an SQL expression for citations without the data of deleted files. deleted is the condition
// that the file of the citation c was deleted.
func withoutDeleted(citations, deleted string) string {
	return `(
		SELECT coalesce(jsonb_agg(
		    CASE WHEN ` + deleted + `
		         THEN jsonb_build_object('index', c->'index', 'filename', '` + chat.DeletedFile + `', 'page', 0, 'score', 0,
		             'quote', '', 'support', c->'support', 'deleted', true)
		         ELSE c END ORDER BY place), '[]')
		FROM jsonb_array_elements(` + citations + `) WITH ORDINALITY AS listed (c, place)
		WHERE (` + deleted + `) IS NOT TRUE OR c ? 'support')`
}

// citedFiles returns the ids of the data sources that citations name.
func citedFiles(citations []chat.Citation) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, c := range citations {
		if c.DataSourceID != uuid.Nil && !slices.Contains(ids, c.DataSourceID) {
			ids = append(ids, c.DataSourceID)
		}
	}
	return ids
}
