package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// insertIndex stores the index of a data source and replaces an earlier one.
func insertIndex(ctx context.Context, tx pgx.Tx, owner identity.Owner, of datasource.IndexedSource,
	packed index.PackedIndex,
) error {
	if err := exec(ctx, tx, `DELETE FROM data_source_indexes WHERE data_source_id = $1`, of.ID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO data_source_indexes (data_source_id, organization_id, reading, version, head)
		VALUES ($1, $2, $3, $4, $5)`, of.ID, owner.OrganizationID, of.Reading, index.Version, orEmpty(packed.Head))
	if err != nil {
		return err
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"data_source_index_parts"},
		[]string{"data_source_id", "part", "organization_id", "packed"},
		pgx.CopyFromSlice(len(packed.Parts), func(i int) ([]any, error) {
			return []any{of.ID, i, owner.OrganizationID, orEmpty(packed.Parts[i])}, nil
		}))
	return err
}

func (db *DB) ReplaceIndex(ctx context.Context, owner identity.Owner, of datasource.IndexedSource,
	packed index.PackedIndex,
) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		unchanged, err := findValue[bool](ctx, tx, noSource(nil), `
			SELECT reading = $4 AND status = 'success'
			FROM data_sources d
			WHERE `+isReadable+` AND d.id = $3
			FOR NO KEY UPDATE`, owner.OrganizationID, owner.UserID, of.ID, of.Reading)
		if err == nil && !unchanged {
			err = noSource(nil)
		}
		if err != nil {
			return err
		}
		return insertIndex(ctx, tx, owner, of, packed)
	})
}

// FindIndexes implements datasource.Store. A processed data source changes only if it is processed again. Its reading,
// and thereby its index, then has another number.
func (db *DB) FindIndexes(
	ctx context.Context, owner identity.Owner, ids []uuid.UUID,
) ([]datasource.IndexedSource, error) {
	return queryRows[datasource.IndexedSource](ctx, db.pool, `
		SELECT d.id, d.filename, d.reading, d.chunk_count AS passages,
		       CASE WHEN i.reading = d.reading THEN i.version ELSE 0 END AS version
		FROM data_sources d
		JOIN unnest($3::uuid[]) WITH ORDINALITY AS w (id, place) ON w.id = d.id
		LEFT JOIN data_source_indexes i ON i.data_source_id = d.id
		WHERE `+isReadable+` AND d.status = 'success'
		ORDER BY w.place`, owner.OrganizationID, owner.UserID, ids)
}

// readableIndex is the condition that an index i belongs to the reading $4 of the data source $3, which the
// owner $1, $2 may open.
const readableIndex = `i.organization_id = $1 AND i.data_source_id = $3 AND i.reading = $4
	AND EXISTS (SELECT FROM data_sources d WHERE d.id = i.data_source_id AND ` + isReadable + `)`

func (db *DB) IndexHeads(
	ctx context.Context, owner identity.Owner, of []datasource.IndexedSource,
) (map[uuid.UUID][]byte, error) {
	heads := make(map[uuid.UUID][]byte, len(of))
	err := db.batch(ctx, func(batch *pgx.Batch) {
		for _, o := range of {
			batch.Queue(`SELECT i.head FROM data_source_indexes i WHERE `+readableIndex, owner.OrganizationID, owner.UserID,
				o.ID, o.Reading).
				Query(func(rows pgx.Rows) error {
					found, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
					if len(found) > 0 {
						heads[o.ID] = found[0]
					}
					return err
				})
		}
	})
	return heads, err
}

func (db *DB) IndexParts(ctx context.Context, owner identity.Owner, of []datasource.IndexedSource,
	numbers [][]int,
) ([]map[int][]byte, error) {
	parts := make([]map[int][]byte, len(of))
	err := db.batch(ctx, func(batch *pgx.Batch) {
		for i, o := range of {
			parts[i] = make(map[int][]byte, len(numbers[i]))
			if len(numbers[i]) == 0 {
				continue
			}
			batch.Queue(`
				SELECT p.part, p.packed
				FROM data_source_indexes i
				JOIN data_source_index_parts p ON p.data_source_id = i.data_source_id
				WHERE `+readableIndex+` AND p.data_source_id = $3 AND p.part = ANY($5::int[])`,
				owner.OrganizationID, owner.UserID, o.ID, o.Reading, numbers[i]).
				Query(func(rows pgx.Rows) error {
					var number int
					var packed []byte
					_, err := pgx.ForEachRow(rows, []any{&number, &packed}, func() error {
						parts[i][number], packed = packed, nil
						return nil
					})
					return err
				})
		}
	})
	return parts, err
}

func (db *DB) ListChunks(ctx context.Context, owner identity.Owner, of datasource.IndexedSource) ([]datasource.Chunk,
	error,
) {
	return queryRows[datasource.Chunk](ctx, db.pool, `
		SELECT c.ordinal, c.page, c.start_byte AS start, c.end_byte AS end, c.locator, c.text
		FROM data_source_chunks c
		JOIN data_sources d ON d.id = c.data_source_id
		WHERE `+isReadable+` AND d.id = $3 AND d.reading = $4
		ORDER BY c.ordinal`, owner.OrganizationID, owner.UserID, of.ID, of.Reading)
}

// chunkColumns are the columns of a datasource.Passage, from the tables data_source_chunks c and data_sources d.
const chunkColumns = `c.id, c.data_source_id AS source_id, d.filename, c.ordinal, c.page,
	c.start_byte AS start, c.end_byte AS end, c.locator, c.text`

func (db *DB) FindPassages(ctx context.Context, owner identity.Owner, sources []uuid.UUID,
	ordinals [][]int,
) ([]datasource.Passage, error) {
	found := make([][]datasource.Passage, len(sources))
	err := db.batch(ctx, func(batch *pgx.Batch) {
		for i, id := range sources {
			batch.Queue(`
				SELECT `+chunkColumns+`
				FROM data_sources d
				JOIN data_source_chunks c ON c.data_source_id = d.id
				WHERE `+isReadable+` AND d.id = $3 AND c.data_source_id = $3
				AND c.ordinal = ANY($4::int[])
				ORDER BY c.ordinal`, owner.OrganizationID, owner.UserID, id, ordinals[i]).Query(collect(&found[i]))
		}
	})
	var all []datasource.Passage
	for _, list := range found {
		all = append(all, list...)
	}
	return all, err
}

func (db *DB) FindPassage(ctx context.Context, owner identity.Owner, id uuid.UUID) (datasource.EmbeddedPassage,
	error,
) {
	return findRow[datasource.EmbeddedPassage](ctx, db.pool, noSource(nil), `
		SELECT `+chunkColumns+`, coalesce(m.name, '') AS model, coalesce(m.dimensions, 0) AS dimensions
		FROM data_source_chunks c
		JOIN data_sources d ON d.id = c.data_source_id
		LEFT JOIN LATERAL (
		    SELECT m.name, m.dimensions
		    FROM embeddings e
		    JOIN embedding_models m ON m.id = e.model_id
		    WHERE e.data_source_id = c.data_source_id AND e.done > c.ordinal
		    ORDER BY m.used_at DESC, m.id DESC
		    LIMIT 1
		) m ON true
		WHERE `+isReadable+` AND c.id = $3`, owner.OrganizationID, owner.UserID, id)
}

// ListPassages implements datasource.Store. Ordinals have no gaps.
func (db *DB) ListPassages(ctx context.Context, owner identity.Owner, id uuid.UUID,
	page, offset, limit int,
) ([]datasource.Passage, error) {
	return queryRows[datasource.Passage](ctx, db.pool, `
		SELECT `+chunkColumns+`
		FROM data_sources d
		JOIN data_source_chunks c ON c.data_source_id = d.id
		WHERE `+isReadable+` AND d.id = $3 AND c.data_source_id = $3
		  AND c.ordinal >= $5 + (SELECT min(ordinal) FROM data_source_chunks WHERE data_source_id = $3 AND page >= $4)
		ORDER BY c.ordinal
		LIMIT $6`, owner.OrganizationID, owner.UserID, id, page, offset, limit)
}
