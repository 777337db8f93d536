package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// oldBatch is the number of data sources whose vectors of unused models are removed at a time.
const oldBatch = 20

func (db *DB) UseModel(ctx context.Context, model datasource.EmbeddingModel) (state datasource.ModelState, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) (err error) {
		_, err = tx.Exec(ctx, `
			WITH old AS (
			    SELECT e.data_source_id, e.model_id
			    FROM embeddings e
			    JOIN embedding_models m ON m.id = e.model_id
			    WHERE m.used_at < now() - interval '1 day'
			    LIMIT $1
			)
			DELETE FROM embeddings e
			USING old
			WHERE e.data_source_id = old.data_source_id AND e.model_id = old.model_id`, oldBatch)
		if err != nil {
			return err
		}
		state, err = queryRow[datasource.ModelState](ctx, tx, `
			WITH used AS (
			    INSERT INTO embedding_models (name, query_prefix, passage_prefix)
			    VALUES ($1, $2, $3)
			    ON CONFLICT (name, query_prefix, passage_prefix) DO UPDATE SET used_at = now()
			    RETURNING id, weight, measured
			)
			SELECT id, weight, measured,
			       coalesce((SELECT sum(e.done) FROM embeddings e WHERE e.model_id = used.id), 0)::bigint AS embedded
			FROM used`, model.Name, model.QueryPrefix, model.PassagePrefix)
		return err
	})
	return state, err
}

// ClaimEmbedding implements datasource.Store. If several servers choose the same data source at once, one of them gets
// it. The others try again in their next turn.
func (db *DB) ClaimEmbedding(ctx context.Context, modelID, limit int, lease time.Duration) (
	turn datasource.EmbeddingTurn, found bool, _ error,
) {
	err := db.tx(ctx, func(tx pgx.Tx) (err error) {
		row, err := queryRow[turnRow](ctx, tx, `
			WITH waiting AS (
			    SELECT d.id, d.organization_id
			    FROM data_sources d
			    LEFT JOIN embeddings e ON e.data_source_id = d.id AND e.model_id = $1
			    WHERE d.status = 'success' AND d.chunk_count > coalesce(e.done, 0)
			      AND coalesce(e.not_before, '-infinity') <= now()
			    ORDER BY coalesce(e.turn, 0), d.created_at DESC, d.id
			    LIMIT 1
			), begun AS (
			    INSERT INTO embeddings (data_source_id, model_id, organization_id, not_before)
			    SELECT id, $1, organization_id, now() + $2::interval FROM waiting
			    ON CONFLICT (data_source_id, model_id) DO UPDATE
			    SET turn = embeddings.turn + 1, not_before = excluded.not_before
			    WHERE embeddings.not_before <= now()
			    RETURNING data_source_id, turn, done
			)
			SELECT d.organization_id, d.user_id, d.id, d.filename, d.chunk_count, b.turn, b.done
			FROM begun b
			JOIN data_sources d ON d.id = b.data_source_id`, modelID, lease)
		if isNoRows(err) {
			found = false
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		turn = datasource.EmbeddingTurn{
			Owner:    identity.Owner{OrganizationID: row.OrganizationID, UserID: row.UserID},
			SourceID: row.ID, Filename: row.Filename, ModelID: modelID, Turn: row.Turn, Total: row.ChunkCount,
		}
		turn.Chunks, err = queryRows[datasource.Chunk](ctx, tx, `
			SELECT c.ordinal, c.page, c.start_byte AS start, c.end_byte AS end, c.locator, c.text
			FROM data_source_chunks c
			WHERE c.organization_id = $1 AND c.data_source_id = $2 AND c.ordinal >= $3
			ORDER BY c.ordinal
			LIMIT $4`, row.OrganizationID, row.ID, row.Done, limit)
		return err
	})
	return turn, found, err
}

// turnRow is the row of a turn.
type turnRow struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	ID             uuid.UUID
	Filename       string
	ChunkCount     int
	Turn           int64
	Done           int
}

func (db *DB) RenewEmbedding(ctx context.Context, turn datasource.EmbeddingTurn, lease time.Duration) error {
	return db.changeTurn(ctx, turn, `not_before = now() + $5::interval`, lease)
}

// PauseEmbedding implements datasource.Store. The longest pause is an hour.
func (db *DB) PauseEmbedding(ctx context.Context, turn datasource.EmbeddingTurn, pause time.Duration) error {
	return db.changeTurn(ctx, turn, `failures = failures + 1, turn = turn + 1,
		not_before = now() + least($5::interval * power(2, least(failures, 10)), interval '1 hour')`, pause)
}

// changeTurn changes the row of a turn, if it is the latest turn.
func (db *DB) changeTurn(ctx context.Context, turn datasource.EmbeddingTurn, set string, arg any) error {
	tag, err := db.pool.Exec(ctx, `
		UPDATE embeddings
		SET `+set+`
		WHERE organization_id = $1 AND data_source_id = $2 AND model_id = $3 AND turn = $4`,
		turn.Owner.OrganizationID, turn.SourceID, turn.ModelID, turn.Turn, arg)
	if err == nil && tag.RowsAffected() == 0 {
		return noSource(nil)
	}
	return translate(err)
}

func (db *DB) PutVectors(ctx context.Context, turn datasource.EmbeddingTurn,
	e datasource.VectorBatch,
) (told *datasource.Source, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		done := e.From + len(e.Vectors)
		tag, err := tx.Exec(ctx, `
			UPDATE embeddings
			SET done = $5, not_before = now() + $6::interval, failures = 0
			WHERE organization_id = $1 AND data_source_id = $2 AND model_id = $3 AND turn = $4 AND done = $7`,
			turn.Owner.OrganizationID, turn.SourceID, turn.ModelID, turn.Turn, done, e.Lease, e.From)
		if err == nil && tag.RowsAffected() == 0 {
			return noSource(nil)
		}
		if err != nil {
			return err
		}
		tag, err = tx.Exec(ctx, `UPDATE embedding_models SET dimensions = $2 WHERE id = $1 AND dimensions IN (0, $2)`,
			turn.ModelID, len(e.Vectors[0]))
		if err == nil && tag.RowsAffected() == 0 {
			return fault.Errorf(fault.Conflict, "埋め込みモデルのベクトルの長さが変わりました。")
		}
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"embedding_vectors"},
			[]string{"data_source_id", "model_id", "ordinal", "organization_id", "vector"},
			pgx.CopyFromSlice(len(e.Vectors), func(i int) ([]any, error) {
				return []any{
					turn.SourceID, turn.ModelID, e.From + i, turn.Owner.OrganizationID, index.PackVector(e.Vectors[i]),
				}, nil
			}))
		if err != nil || !e.ReturnSource {
			return err
		}
		told, err = storeEmbeddingProgress(ctx, tx, turn, done)
		return err
	})
	return told, err
}

// storeEmbeddingProgress stores the progress of embedding a data source and returns the data source. It returns nil if
// embedding is complete and no progress was stored before, because clients need no event then.
func storeEmbeddingProgress(ctx context.Context, tx pgx.Tx, turn datasource.EmbeddingTurn, done int) (
	*datasource.Source, error,
) {
	source, err := queryRow[datasource.Source](ctx, tx, `
		UPDATE data_sources
		SET stage = CASE WHEN $3::int < $4::int THEN 'embedding' ELSE '' END, done = $3, total = $4,
		    revision = revision + 1
		WHERE organization_id = $1 AND id = $2 AND status = 'success' AND ($3::int < $4::int OR stage <> '')
		RETURNING `+sourceColumns, turn.Owner.OrganizationID, turn.SourceID, done, turn.Total)
	if isNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &source, nil
}

func (db *DB) FindVectors(ctx context.Context, owner identity.Owner, of []datasource.IndexedSource, modelID,
	limit int,
) ([]index.Vectors, bool, error) {
	ids := convert(of, func(o datasource.IndexedSource) uuid.UUID { return o.ID })
	sizes, err := queryRows[vectorSize](ctx, db.pool, `
		SELECT d.id, d.chunk_count, m.dimensions
		FROM data_sources d
		JOIN embeddings e ON e.data_source_id = d.id AND e.model_id = $4 AND e.done = d.chunk_count
		JOIN embedding_models m ON m.id = e.model_id
		JOIN unnest($3::uuid[]) WITH ORDINALITY AS w (id, place) ON w.id = d.id
		WHERE `+isReadable+` AND d.status = 'success'
		ORDER BY w.place`, owner.OrganizationID, owner.UserID, ids, modelID)
	if err != nil {
		return nil, false, translate(err)
	}
	bytes := 0
	for _, s := range sizes {
		bytes += 4 * s.ChunkCount * s.Dimensions
	}
	if len(sizes) < len(of) || bytes > limit {
		return nil, false, nil
	}
	vectors := make([]index.Vectors, len(of))
	err = db.batch(ctx, func(batch *pgx.Batch) {
		for i, s := range sizes {
			vectors[i] = index.Vectors{Dimensions: s.Dimensions, Values: make([]float32, 0, s.ChunkCount*s.Dimensions)}
			batch.Queue(`
				SELECT vector
				FROM embedding_vectors
				WHERE organization_id = $1 AND data_source_id = $2 AND model_id = $3
				ORDER BY ordinal`, owner.OrganizationID, s.ID, modelID).
				Query(func(rows pgx.Rows) error {
					var packed pgtype.DriverBytes
					_, err := pgx.ForEachRow(rows, []any{&packed}, func() error {
						vectors[i].Values = index.AppendVector(vectors[i].Values, packed)
						return nil
					})
					return err
				})
		}
	})
	return vectors, err == nil, err
}

// vectorSize is the number and the length of the vectors of a data source.
type vectorSize struct {
	ID         uuid.UUID
	ChunkCount int
	Dimensions int
}

func (db *DB) ClaimMeasure(ctx context.Context, modelID, people, limit int,
	lease time.Duration,
) (sample map[identity.Owner][]uuid.UUID, claimed bool, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE embedding_models
			SET measuring_until = now() + $2::interval
			WHERE id = $1 AND measuring_until < now()`, modelID, lease)
		if claimed = err == nil && tag.RowsAffected() == 1; !claimed {
			return err
		}
		rows, err := queryRows[sampleRow](ctx, tx, `
			SELECT s.organization_id, s.user_id, array_agg(s.id) AS ids
			FROM (SELECT d.organization_id, d.user_id, d.id,
			             row_number() OVER (PARTITION BY d.user_id ORDER BY random()) AS place
			      FROM embeddings e
			      JOIN data_sources d ON d.id = e.data_source_id AND d.status = 'success' AND d.chunk_count = e.done
			      WHERE e.model_id = $1) s
			WHERE s.place <= $3
			GROUP BY s.organization_id, s.user_id
			ORDER BY random()
			LIMIT $2`, modelID, people, limit)
		sample = make(map[identity.Owner][]uuid.UUID, len(rows))
		for _, r := range rows {
			sample[identity.Owner{OrganizationID: r.OrganizationID, UserID: r.UserID}] = r.IDs
		}
		return err
	})
	return sample, claimed, err
}

// sampleRow is a sample of a user's embedded data sources.
type sampleRow struct {
	OrganizationID uuid.UUID
	UserID         uuid.UUID
	IDs            []uuid.UUID `db:"ids"`
}

func (db *DB) PutWeight(ctx context.Context, modelID int, weight float64, embedded int64) error {
	_, err := db.pool.Exec(ctx, `
		UPDATE embedding_models
		SET weight = $2, measured = $3, measuring_until = '-infinity'
		WHERE id = $1`, modelID, weight, embedded)
	return translate(err)
}
