package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

const (
	// changesPerTurn is the largest number of data sources of a turn.
	changesPerTurn = 100

	// Frequent keys are counted in a sample of the passages, at sampleFrom passages and whenever their number has changed
	// by a quarter.
	sampleFrom = 1000
	sampleSize = 10_000
	leastCount = 10 // Number of passages of the sample that contain a frequent key.
)

// indexTurn is the turn of a project: the locked row of its index.
type indexTurn struct {
	OrganizationID uuid.UUID
	ProjectID      uuid.UUID
	Passages       int64
	SampledAt      int64

	left   int   // Passages that may still be written or removed.
	tokens int64 // Added in this turn.
}

// indexChange is a data source whose rows must be written, or removed if it is no longer a readable source of the
// project.
type indexChange struct {
	DataSourceID uuid.UUID
	Reading      int64 // That is being indexed, -1 at the beginning.
	Done         int   // Number of its indexed passages.

	Filename string
	Current  *int64 // The reading of the data source, nil to remove its rows.
	Passages int
}

// IndexProjects implements datasource.Store. The project whose last turn is the longest ago comes first. Its lock
// prevents a turn on another server.
func (db *DB) IndexProjects(ctx context.Context, limit int) (indexed int, _ error) {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		indexed = 0
		turn, err := queryRow[indexTurn](ctx, tx, `
			SELECT organization_id, project_id, passages, sampled_at
			FROM project_indexes i
			WHERE EXISTS (SELECT FROM project_index_changes c WHERE c.project_id = i.project_id)
			ORDER BY indexed_at
			LIMIT 1
			FOR UPDATE SKIP LOCKED`)
		if isNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		changes, err := turn.changes(ctx, tx)
		if err != nil {
			return err
		}
		turn.left = limit
		for _, change := range changes {
			if turn.left <= 0 {
				break
			}
			if err := turn.apply(ctx, tx, change); err != nil {
				return err
			}
			indexed++
		}
		return turn.end(ctx, tx)
	})
	return indexed, err
}

// changes locks the next changes and returns them. The lock delays a transaction that changes one of them again, such as
// the end of a reading. The data sources are read by a second statement, which sees what was committed before the lock.
func (t *indexTurn) changes(ctx context.Context, tx pgx.Tx) ([]indexChange, error) {
	locked, err := queryValues[uuid.UUID](ctx, tx, `
		SELECT data_source_id
		FROM project_index_changes
		WHERE project_id = $1
		ORDER BY id
		LIMIT $2
		FOR UPDATE SKIP LOCKED`, t.ProjectID, changesPerTurn)
	if err != nil {
		return nil, err
	}
	return queryRows[indexChange](ctx, tx, `
		SELECT c.data_source_id, c.reading, c.done, coalesce(d.filename, '') AS filename, d.reading AS current,
		       coalesce(d.chunk_count, 0) AS passages
		FROM project_index_changes c
		LEFT JOIN project_sources s ON s.project_id = c.project_id AND s.data_source_id = c.data_source_id
		LEFT JOIN data_sources d ON d.id = s.data_source_id AND d.status = 'success'
		WHERE c.project_id = $1 AND c.data_source_id = ANY ($2)
		ORDER BY c.id`, t.ProjectID, locked)
}

// apply applies a change, or a part of it.
func (t *indexTurn) apply(ctx context.Context, tx pgx.Tx, c indexChange) error {
	if c.Current == nil || *c.Current != c.Reading {
		if err := t.remove(ctx, tx, c); err != nil || t.left <= 0 {
			return err
		}
		c.Done = 0
	}
	if c.Current != nil && c.Done < c.Passages {
		added, err := t.add(ctx, tx, c)
		if err != nil {
			return err
		}
		if c.Done += added; c.Done < c.Passages && added > 0 {
			return exec(ctx, tx, `
				UPDATE project_index_changes
				SET reading = $3, done = $4
				WHERE project_id = $1 AND data_source_id = $2`, t.ProjectID, c.DataSourceID, *c.Current, c.Done)
		}
	}
	return exec(ctx, tx, `DELETE FROM project_index_changes WHERE project_id = $1 AND data_source_id = $2`, t.ProjectID,
		c.DataSourceID)
}

// remove removes rows of a data source.
func (t *indexTurn) remove(ctx context.Context, tx pgx.Tx, c indexChange) error {
	lengths, err := queryValues[int](ctx, tx, `
		DELETE FROM project_passages
		WHERE organization_id = $1 AND project_id = $2 AND data_source_id = $3
		  AND ordinal = ANY (ARRAY(
		    SELECT ordinal
		    FROM project_passages
		    WHERE organization_id = $1 AND project_id = $2 AND data_source_id = $3
		    LIMIT $4))
		RETURNING length`, t.OrganizationID, t.ProjectID, c.DataSourceID, t.left)
	t.left -= len(lengths)
	t.Passages -= int64(len(lengths))
	for _, length := range lengths {
		t.tokens -= int64(length)
	}
	return err
}

// add writes the next rows of a data source.
func (t *indexTurn) add(ctx context.Context, tx pgx.Tx, c indexChange) (added int, _ error) {
	chunks, err := queryRows[datasource.Chunk](ctx, tx, `
		SELECT ordinal, page, start_byte AS start, end_byte AS end, locator, text
		FROM data_source_chunks
		WHERE data_source_id = $1 AND ordinal >= $2
		ORDER BY ordinal
		LIMIT $3`, c.DataSourceID, c.Done, t.left)
	if err != nil {
		return 0, err
	}
	keyed := datasource.KeyPassages(t.ProjectID, c.Filename, chunks)
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"project_passages"},
		[]string{"organization_id", "project_id", "data_source_id", "ordinal", "length", "keys"},
		pgx.CopyFromSlice(len(chunks), func(i int) ([]any, error) {
			return []any{
				t.OrganizationID, t.ProjectID, c.DataSourceID, chunks[i].Ordinal, keyed[i].Length, keyed[i].Keys,
			}, nil
		}))
	t.left -= len(chunks)
	t.Passages += int64(len(chunks))
	for _, k := range keyed {
		t.tokens += int64(k.Length)
	}
	return len(chunks), err
}

// merge merges the pending list of the index, which every search would read.
func (t *indexTurn) merge(ctx context.Context, tx pgx.Tx) error {
	return exec(ctx, tx, `
		SELECT gin_clean_pending_list(x.indexrelid)
		FROM pg_index x
		JOIN pg_class c ON c.oid = x.indexrelid
		JOIN pg_am a ON a.oid = c.relam AND a.amname = 'gin'
		WHERE x.indrelid = (
		    SELECT p.tableoid FROM project_passages p WHERE p.organization_id = $1 AND p.project_id = $2 LIMIT 1)`,
		t.OrganizationID, t.ProjectID)
}

// end stores the state of the index. It removes the index of a project that no longer exists.
func (t *indexTurn) end(ctx context.Context, tx pgx.Tx) error {
	if err := t.merge(ctx, tx); err != nil {
		return err
	}
	err := exec(ctx, tx, `
		UPDATE project_indexes
		SET passages = $2, tokens = tokens + $3, indexed_at = clock_timestamp()
		WHERE project_id = $1`, t.ProjectID, t.Passages, t.tokens)
	if err != nil {
		return err
	}
	if t.Passages == 0 {
		return send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(`DELETE FROM project_index_keys WHERE project_id = $1`, t.ProjectID)
			batch.Queue(`
				DELETE FROM project_indexes i
				WHERE i.project_id = $1 AND NOT EXISTS (SELECT FROM projects p WHERE p.id = $1)
				  AND NOT EXISTS (SELECT FROM project_index_changes c WHERE c.project_id = $1)`, t.ProjectID)
		})
	}
	if difference := t.Passages - t.SampledAt; t.Passages < sampleFrom || 4*max(difference, -difference) < t.SampledAt {
		return nil
	}
	return t.sample(ctx, tx)
}

// sample counts the frequent keys again.
func (t *indexTurn) sample(ctx context.Context, tx pgx.Tx) error {
	return send(ctx, tx, func(batch *pgx.Batch) {
		batch.Queue(`DELETE FROM project_index_keys WHERE project_id = $1`, t.ProjectID)
		batch.Queue(`
			WITH sample AS MATERIALIZED (
			    SELECT keys
			    FROM project_passages
			    WHERE organization_id = $1 AND project_id = $2 AND random() < $3::float8
			), counted AS (
			    INSERT INTO project_index_keys (organization_id, project_id, key, passages)
			    SELECT $1, $2, key, count(*)
			    FROM sample, unnest(keys) AS key
			    GROUP BY key
			    HAVING count(*) >= $4
			)
			UPDATE project_indexes
			SET sampled = (SELECT count(*) FROM sample), sampled_at = passages
			WHERE project_id = $2`,
			t.OrganizationID, t.ProjectID, float64(sampleSize)/float64(t.Passages), leastCount)
	})
}

// noProject is the error if a project does not exist or the caller has no role in it.
func noProject() error {
	return fault.Errorf(fault.NotFound, "プロジェクトが見つかりません。")
}

// opensProject is the condition that the person $2 of the organization $1 has a role in the project $3.
const opensProject = `project_role($1, $2, $3) IS NOT NULL`

func (db *DB) FindProjectIndex(ctx context.Context, actor identity.Owner, projectID uuid.UUID, keys []int32) (
	datasource.ProjectIndex, error,
) {
	return findRow[datasource.ProjectIndex](ctx, db.pool, noProject(), `
		SELECT coalesce(i.passages, 0) AS passages, coalesce(i.tokens, 0) AS tokens,
		       ARRAY(SELECT CASE WHEN i.sampled > 0 THEN coalesce(k.passages, $5) * i.passages / i.sampled ELSE 0 END
		             FROM unnest($4::int4[]) WITH ORDINALITY AS wanted (key, place)
		             LEFT JOIN project_index_keys k ON k.project_id = $3 AND k.key = wanted.key
		             ORDER BY place) AS having
		FROM (SELECT WHERE `+opensProject+`) allowed
		LEFT JOIN project_indexes i ON i.project_id = $3`,
		actor.OrganizationID, actor.UserID, projectID, keys, leastCount/2)
}

func (db *DB) FindCandidates(ctx context.Context, actor identity.Owner, projectID uuid.UUID,
	query datasource.CandidateQuery,
) (sources []uuid.UUID, ordinals [][]int, having []int, _ error) {
	var rows []candidateRow
	err := db.batch(ctx, func(batch *pgx.Batch) {
		// The planner overestimates the number of rows with a key.
		batch.Queue(`SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`)
		batch.Queue(projectCandidatesSQL, actor.OrganizationID, actor.UserID, projectID, query.Keys, query.Weights,
			query.NormBase, query.NormPerToken, query.Limit).Query(collect(&rows))
	})
	for _, r := range rows {
		sources, ordinals, having = append(sources, r.DataSourceID), append(ordinals, r.Ordinals), r.Having
	}
	return sources, ordinals, having, err
}

// candidateRow contains candidates of a data source. Having is the same in all rows.
type candidateRow struct {
	DataSourceID uuid.UUID
	Ordinals     []int
	Having       []int
}

// projectCandidatesSQL ranks the passages that contain keys by the score that they would have if they contained each key
// once. It also counts the passages with each key. Its parameters are organization, person, project, keys, their
// weights, the two numbers of the norm, and the number of passages.
const projectCandidatesSQL = `
	WITH hit AS MATERIALIZED (
	    SELECT w.place, w.weight, p.data_source_id, p.ordinal, p.length
	    FROM unnest($4::int4[], $5::float8[]) WITH ORDINALITY AS w (key, weight, place)
	    CROSS JOIN LATERAL (
	        SELECT data_source_id, ordinal, length
	        FROM project_passages
	        WHERE organization_id = $1 AND project_id = $3 AND keys @> ARRAY[w.key]) p
	    WHERE ` + opensProject + `
	), best AS (
	    SELECT data_source_id, ordinal
	    FROM hit
	    GROUP BY data_source_id, ordinal
	    ORDER BY sum(weight) / (1 + $6::float8 + $7::float8 * min(length)) DESC
	    LIMIT $8
	)
	SELECT data_source_id, array_agg(ordinal) AS ordinals,
	       (SELECT array_agg(coalesce(n, 0) ORDER BY place)
	        FROM generate_series(1, cardinality($4::int4[])) AS place
	        LEFT JOIN (SELECT place, count(*) AS n FROM hit GROUP BY place) counted USING (place)) AS having
	FROM best
	GROUP BY data_source_id`

func (db *DB) FindProjectPassages(ctx context.Context, actor identity.Owner, projectID uuid.UUID, sources []uuid.UUID,
	ordinals [][]int,
) ([]datasource.Passage, error) {
	var ids []uuid.UUID
	for i, id := range sources {
		ids = append(ids, slices.Repeat([]uuid.UUID{id}, len(ordinals[i]))...)
	}
	return queryRows[datasource.Passage](ctx, db.pool, `
		SELECT `+chunkColumns+`
		FROM (SELECT DISTINCT * FROM unnest($4::uuid[], $5::int[])) w (id, ordinal)
		JOIN project_sources s ON s.organization_id = $1 AND s.project_id = $3 AND s.data_source_id = w.id
		JOIN data_sources d ON d.id = w.id AND d.status = 'success'
		JOIN data_source_chunks c ON c.data_source_id = w.id AND c.ordinal = w.ordinal
		WHERE `+opensProject+`
		ORDER BY w.id, w.ordinal`, actor.OrganizationID, actor.UserID, projectID, ids, slices.Concat(ordinals...))
}

func (db *DB) FindPassageVectors(ctx context.Context, actor identity.Owner, projectID uuid.UUID, ids []uuid.UUID,
	modelID int,
) (vectors index.Vectors, ok bool, _ error) {
	packed, err := queryValues[[]byte](ctx, db.pool, `
		SELECT v.vector
		FROM unnest($4::uuid[]) WITH ORDINALITY AS w (id, place)
		JOIN data_source_chunks c ON c.id = w.id
		JOIN project_sources s ON s.organization_id = $1 AND s.project_id = $3 AND s.data_source_id = c.data_source_id
		JOIN embedding_vectors v ON v.data_source_id = c.data_source_id AND v.model_id = $5 AND v.ordinal = c.ordinal
		WHERE `+opensProject+`
		ORDER BY w.place`, actor.OrganizationID, actor.UserID, projectID, ids, modelID)
	if err != nil || len(packed) < len(ids) || len(ids) == 0 {
		return vectors, false, err
	}
	for _, p := range packed {
		vectors.Values = index.AppendVector(vectors.Values, p)
	}
	vectors.Dimensions = len(vectors.Values) / len(ids)
	return vectors, true, nil
}
