package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

var _ chat.Store = (*DB)(nil)

// Locks are always taken in the order thread, generation, message, which prevents deadlock.

// CreateThread implements chat.Store. Only a new request checks the skill: a repeated one returns its thread even if
// the skill has been retired.
func (db *DB) CreateThread(ctx context.Context, owner identity.Owner, t chat.NewThread) (chat.Thread, error) {
	var threads []chat.Thread
	if t.ProjectID != nil {
		if err := checkProject(ctx, db.pool, owner, *t.ProjectID); err != nil {
			return chat.Thread{}, err
		}
	}
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(`
			INSERT INTO threads (id, organization_id, user_id, skill_id, request_id, title, expires_at, instructions,
			                     project_id, visibility)
			SELECT $3, $1, $2, s.id, $5, $6, now() + nullif($7::interval, '0'), $8, $9,
			       CASE WHEN $10 THEN 'project' ELSE 'private' END
			FROM skills s
			WHERE s.id = CASE WHEN $4::uuid = '00000000-0000-0000-0000-000000000000'
			                  THEN (SELECT p.skill_id FROM projects p WHERE p.organization_id = $1 AND p.id = $9)
			                  ELSE $4 END
			  AND `+mayUse+` AND s.retired_at IS NULL AND `+isShown+`
			ON CONFLICT (user_id, request_id) DO NOTHING`,
			owner.OrganizationID, owner.UserID, t.ID, t.SkillID, t.RequestID, t.Title, t.Lifetime,
			storable(t.Instructions), t.ProjectID, t.Shared)
		batch.Queue(addedThreadSQL, owner.OrganizationID, owner.UserID, t.ID, t.RequestID).Query(collect(&threads))
	})
	switch {
	case err != nil:
		return chat.Thread{}, err
	case len(threads) == 0:
		return chat.Thread{}, errNoSkill
	case t.SkillID != uuid.Nil && threads[0].SkillID != t.SkillID, (threads[0].ExpiresAt != nil) != (t.Lifetime > 0):
		return chat.Thread{}, chat.ErrRequestConflict
	}
	return threads[0], nil
}

// AddEarlierMessages implements chat.Store. If the thread has messages, the first statement adds none, and neither do the
// others, whose parents are missing.
func (db *DB) AddEarlierMessages(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, earlier []chat.EarlierMessage,
) error {
	var parent *uuid.UUID
	err := db.batch(ctx, func(batch *pgx.Batch) {
		batch.Queue(lockThreadSQL, owner.OrganizationID, owner.UserID, threadID)
		parent = nil
		for _, m := range earlier {
			id, finish := uuidv7.New(), ""
			if m.Role == chat.RoleAssistant {
				finish = string(chat.FinishStop)
			}
			batch.Queue(`
				INSERT INTO messages (id, organization_id, thread_id, parent_id, role, content, status,
				                      finish_reason, tool_calls, completed_at)
				SELECT $1, $2, t.id, $5, $6, $7, 'success', nullif($8, ''), $9, now()
				FROM threads t
				WHERE t.organization_id = $2 AND t.user_id = $3 AND t.id = $4
				  AND CASE WHEN $5::uuid IS NULL THEN NOT EXISTS (SELECT FROM messages m WHERE m.thread_id = t.id)
				           ELSE EXISTS (SELECT FROM messages m WHERE m.id = $5) END`,
				id, owner.OrganizationID, owner.UserID, threadID, parent, m.Role, storable(m.Content), finish,
				orNil(convert(m.ToolCalls, storableCall)))
			if len(m.PictureIDs) > 0 {
				queuePictures(batch, owner, id, m.PictureIDs)
			}
			parent = &id
		}
		batch.Queue(`
			UPDATE threads SET leaf_id = $4
			WHERE organization_id = $1 AND user_id = $2 AND id = $3 AND EXISTS (SELECT FROM messages WHERE id = $4)`,
			owner.OrganizationID, owner.UserID, threadID, parent)
	})
	if isNoPicture(err) {
		return picture.ErrNoPicture
	}
	return err
}

// threadColumns are the columns of a chat.Thread, from the tables threads t and skills s, without running.
const threadColumns = `t.id, t.user_id, t.skill_id, s.name AS skill_name, s.icon_path AS skill_icon_path, t.title,
	t.created_at, t.updated_at, t.touched_at, t.pinned, t.archived, t.expires_at, t.visibility = 'project' AS shared,
	project_of_thread(t.project_id, t.user_id) AS project,
	CASE WHEN EXISTS (SELECT FROM thread_data_sources a WHERE a.thread_id = t.id)
	     THEN sources_of_thread(t.id, t.user_id, t.visibility = 'project') END AS sources`

// isRunning is the column running: whether an answer is being generated in the thread t.
const isRunning = `EXISTS (SELECT FROM generations g WHERE g.thread_id = t.id AND g.ended_at IS NULL) AS running`

func (db *DB) ListThreads(
	ctx context.Context, owner identity.Owner, filter chat.ThreadFilter, offset, limit int,
) ([]chat.Thread, error) {
	where, order := ` AND t.user_id = $2 AND $6::uuid IS NULL`, `t.pinned DESC`
	if filter.ProjectID != nil {
		where, order = ` AND t.project_id = $6`, `t.pinned AND t.user_id = $2 DESC`
	}
	return queryRows[chat.Thread](ctx, db.pool, selectThread+where+`
		  AND t.archived = $3 AND t.expires_at IS NULL AND ($7::boolean IS NULL OR (t.visibility = 'project') = $7)
		ORDER BY `+order+`, t.touched_at DESC, t.id DESC
		OFFSET $4 LIMIT $5`,
		owner.OrganizationID, owner.UserID, filter.Archived, offset, limit, filter.ProjectID, filter.Shared)
}

func (db *DB) FindThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.Thread, error) {
	return findThread(ctx, db.pool, owner, id)
}

// isOpenTo is the condition that the thread t is the own one of the user $2, or a shared one. It does not check the
// role in the project: generations end, whatever the person who asked may read by then.
const isOpenTo = `(t.user_id = $2 OR t.visibility = 'project')`

// mayRead is the condition that the user $2 of the organization $1 may read the thread t.
const mayRead = isOpenTo + `
	AND (t.project_id IS NULL OR t.project_id IN (SELECT a.project_id FROM projects_of($1, $2) a))`

// mayOpen is mayRead for statements about a single thread, which do not prepare the plan for projects unless the thread is
// in one.
const mayOpen = isOpenTo + ` AND (t.project_id IS NULL OR may_open_project($1, $2, t.project_id))`

// mayChange is the condition that the user $2 of the organization $1, who may read the thread t, may change it.
const mayChange = `(t.user_id = $2 OR t.visibility = 'project' AND project_role($1, $2, t.project_id) = 'manager')`

// isArchived is the condition that the thread t is in an archived project.
const isArchived = `(t.project_id IS NOT NULL AND is_archived_project(t.project_id))`

// checkProject returns an error unless threads can be added to a project by the user.
func checkProject(ctx context.Context, q querier, owner identity.Owner, id uuid.UUID) error {
	archived, err := findValue[bool](ctx, q, chat.ErrNoProject, `
		SELECT p.archived_at IS NOT NULL
		FROM projects p
		WHERE p.organization_id = $1 AND p.id = $3 AND p.id IN (SELECT a.project_id FROM projects_of($1, $2) a)`,
		owner.OrganizationID, owner.UserID, id)
	if err == nil && archived {
		err = chat.ErrReadOnly
	}
	return err
}

// allThreads begins every query for threads. Its first two parameters are the organization and the user.
const allThreads = `
	SELECT ` + threadColumns + `, ` + isRunning + `
	FROM threads t
	JOIN skills s ON s.id = t.skill_id
	WHERE t.organization_id = $1`

// addedThreadSQL reads the thread that a request of the user has added: now, with the new id $3, or before, with the
// request's id $4.
const addedThreadSQL = selectThread + ` AND t.id = coalesce(
	(SELECT known.id FROM threads known WHERE known.user_id = $2 AND known.request_id = $4), $3)`

// selectThread begins a query for the threads that a user may read.
const selectThread = allThreads + ` AND ` + mayRead

// findThreadSQL reads one thread, the third parameter.
const findThreadSQL = selectThread + ` AND t.id = $3`

func findThread(ctx context.Context, q querier, owner identity.Owner, id uuid.UUID) (chat.Thread, error) {
	return findRow[chat.Thread](ctx, q, chat.ErrNoThread, findThreadSQL, owner.OrganizationID, owner.UserID, id)
}

// generationThreadSQL reads the thread, the third parameter, of a generation of the user.
const generationThreadSQL = allThreads + ` AND ` + isOpenTo + ` AND t.id = $3`

func findGenerationThread(ctx context.Context, q querier, owner identity.Owner, id uuid.UUID) (chat.Thread, error) {
	return findRow[chat.Thread](ctx, q, chat.ErrNoThread, generationThreadSQL, owner.OrganizationID, owner.UserID, id)
}

// queueThread adds the query for the thread of a generation to a batch. found stays empty if the thread does not exist.
func queueThread(batch *pgx.Batch, owner identity.Owner, id uuid.UUID, found *[]chat.Thread) {
	batch.Queue(generationThreadSQL, owner.OrganizationID, owner.UserID, id).Query(collect(found))
}

// EditThread implements chat.Store. It sets updated_at, because clients keep the record with the later one. The thread
// is locked before the end of a branch is looked up, so that no message is added meanwhile.
func (db *DB) EditThread(ctx context.Context, owner identity.Owner, id uuid.UUID, edit chat.ThreadEdit) (chat.Thread,
	error,
) {
	return db.changeThread(ctx, owner, id, func(tx pgx.Tx) error {
		if err := lockToChange(ctx, tx, owner, id); err != nil {
			return err
		}
		leaf := edit.Leaf
		if leaf != nil {
			newest, err := newestAfter(ctx, tx, owner, id, *leaf)
			if err != nil {
				return err
			}
			leaf = &newest
		}
		return exec(ctx, tx, `
			UPDATE threads
			SET title = coalesce($3, title), pinned = coalesce($4, pinned), archived = coalesce($5, archived),
			    leaf_id = coalesce($6, leaf_id), title_provisional = title_provisional AND $3::text IS NULL,
			    updated_at = clock_timestamp()
			WHERE id = $2 AND organization_id = $1`,
			owner.OrganizationID, id, edit.Title, edit.Pinned, edit.Archived, leaf)
	})
}

func (db *DB) TouchThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.Thread, error) {
	return db.changeThread(ctx, owner, id, func(tx pgx.Tx) error {
		if err := lockToChange(ctx, tx, owner, id); err != nil {
			return err
		}
		return exec(ctx, tx, `
			UPDATE threads
			SET touched_at = clock_timestamp()
			WHERE id = $2 AND organization_id = $1`, owner.OrganizationID, id)
	})
}

// changeThread changes one thread and returns it.
func (db *DB) changeThread(
	ctx context.Context, owner identity.Owner, id uuid.UUID, change func(pgx.Tx) error,
) (chat.Thread, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (chat.Thread, error) {
		if err := change(tx); err != nil {
			return chat.Thread{}, err
		}
		return findThread(ctx, tx, owner, id)
	})
}

func (db *DB) TitleThread(ctx context.Context, title chat.GeneratedTitle) (chat.Thread, bool, error) {
	var threads []chat.Thread
	changed := false
	owner := title.Owner
	name := func(batch *pgx.Batch) {
		batch.Queue(`
			UPDATE threads
			SET title = $4, title_provisional = false, updated_at = clock_timestamp()
			WHERE id = $3 AND organization_id = $1 AND `+strings.ReplaceAll(isOpenTo, "t.", "")+`
			  AND title_provisional AND $4 <> ''`,
			owner.OrganizationID, owner.UserID, title.ThreadID,
			storable(title.Text)).Exec(setAffected(&changed))
		queueThread(batch, owner, title.ThreadID, &threads)
	}
	err := db.ends.do(ctx, groupTx{thread: title.ThreadID, first: name, usage: &usage{
		owner: owner, model: title.ModelID, inputTokens: title.InputTokens, outputTokens: title.OutputTokens,
	}})
	if err != nil || !changed || len(threads) == 0 {
		return chat.Thread{}, false, err
	}
	return threads[0], true, nil
}

func (db *DB) ClaimSuggestions(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID,
) (question string, claimed bool, err error) {
	question, err = queryValue[string](ctx, db.pool, `
		UPDATE messages m
		SET suggestions = '{}'
		FROM messages q
		JOIN threads t ON t.id = q.thread_id AND t.organization_id = $1 AND t.expires_at IS NULL AND `+mayRead+`
		WHERE m.id = $3 AND m.organization_id = $1 AND m.suggestions IS NULL AND NOT `+isArchived+`
		  AND q.id = m.parent_id AND q.params->'schema' IS NULL
		RETURNING q.content`, owner.OrganizationID, owner.UserID, messageID)
	if isNoRows(err) {
		return "", false, nil
	}
	return question, err == nil, err
}

func (db *DB) StoreSuggestions(ctx context.Context, g chat.GeneratedSuggestions) error {
	lock := func(batch *pgx.Batch) {
		batch.Queue(lockThreadSQL, g.Owner.OrganizationID, g.Owner.UserID, g.ThreadID)
	}
	set := func(batch *pgx.Batch) {
		texts := convert(g.Texts, storable)
		batch.Queue(`
			UPDATE messages
			SET suggestions = $4
			WHERE id = $3 AND organization_id = $1 AND thread_id = $2`,
			g.Owner.OrganizationID, g.ThreadID, g.MessageID, texts)
	}
	return db.ends.do(ctx, groupTx{thread: g.ThreadID, first: lock, then: set, usage: &usage{
		owner: g.Owner, model: g.ModelID, inputTokens: g.InputTokens, outputTokens: g.OutputTokens,
	}})
}

// DeleteThread implements chat.Store. Foreign keys delete everything in the thread.
func (db *DB) DeleteThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.DeletedThread, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (chat.DeletedThread, error) {
		if err := lockToChange(ctx, tx, owner, id); err != nil {
			return chat.DeletedThread{}, err
		}
		deleted, err := deleteThreads(ctx, tx, []uuid.UUID{id})
		if err != nil || len(deleted) == 0 {
			return chat.DeletedThread{}, err
		}
		return deleted[0], nil
	})
}

// readersColumns are the columns of a chat.Readers, from the table threads t.
const readersColumns = `t.organization_id, t.user_id,
	CASE WHEN t.visibility = 'project' THEN t.project_id END AS project_id`

// DeleteExpired implements chat.Store. It locks the threads before it reads their answers, so that no answer begins in
// between.
func (db *DB) DeleteExpired(ctx context.Context, limit int) ([]chat.DeletedThread, error) {
	return txResult(ctx, db, func(tx pgx.Tx) ([]chat.DeletedThread, error) {
		ids, err := queryValues[uuid.UUID](ctx, tx, `
			SELECT id FROM threads
			WHERE expires_at <= now()
			ORDER BY expires_at
			LIMIT $1
			FOR UPDATE SKIP LOCKED`, limit)
		if err != nil {
			return nil, err
		}
		return deleteThreads(ctx, tx, ids)
	})
}

// deleteThreads deletes locked threads. It returns their owners and the answers that were being written in them.
func deleteThreads(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) ([]chat.DeletedThread, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return queryRows[chat.DeletedThread](ctx, tx, `
		DELETE FROM threads t
		WHERE t.id = ANY ($1)
		RETURNING t.id AS thread_id, `+readersColumns+`,
		          (SELECT g.message_id FROM generations g WHERE g.thread_id = t.id
		              AND g.ended_at IS NULL) AS running`, ids)
}

// lockThreadSQL locks a thread against writes until the transaction ends. Its parameters are organization, user and
// thread. It does not check whether the user may read a shared thread: the statements after it do.
const lockThreadSQL = `
	SELECT 1 FROM threads t
	WHERE t.id = $3 AND t.organization_id = $1 AND ` + isOpenTo + `
	FOR UPDATE`

// lockToChange locks a thread that the user may change.
func lockToChange(ctx context.Context, tx pgx.Tx, owner identity.Owner, id uuid.UUID) error {
	if err := lockThread(ctx, tx, owner, id); err != nil {
		return err
	}
	may, err := findValue[bool](ctx, tx, chat.ErrNoThread, `
		SELECT `+mayChange+` FROM threads t WHERE t.organization_id = $1 AND t.id = $3 AND `+mayRead,
		owner.OrganizationID, owner.UserID, id)
	if err == nil && !may {
		err = chat.ErrNotOwner
	}
	return err
}

// lockToAsk locks a thread for a question of the user.
func lockToAsk(ctx context.Context, tx pgx.Tx, owner identity.Owner, id uuid.UUID) error {
	if err := lockThread(ctx, tx, owner, id); err != nil {
		return err
	}
	archived, err := findValue[bool](ctx, tx, chat.ErrNoThread, `
		SELECT `+isArchived+` FROM threads t WHERE t.organization_id = $1 AND t.id = $3 AND `+mayRead,
		owner.OrganizationID, owner.UserID, id)
	if err == nil && archived {
		err = chat.ErrReadOnly
	}
	return err
}

func lockThread(ctx context.Context, tx pgx.Tx, owner identity.Owner, id uuid.UUID) error {
	return execRow(ctx, tx, chat.ErrNoThread, lockThreadSQL, owner.OrganizationID, owner.UserID, id)
}

func (db *DB) RequestStop(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (bool, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (bool, error) {
		tag, err := tx.Exec(ctx, `
			UPDATE generations g
			SET stop_requested_at = coalesce(stop_requested_at, now()),
			    server_id = coalesce(waiting_server_id, server_id), waiting_server_id = NULL
			FROM threads t
			WHERE g.message_id = $3 AND g.organization_id = $1 AND g.ended_at IS NULL AND t.id = g.thread_id
			  AND `+mayRead+` AND (g.user_id = $2 OR `+mayChange+`)`,
			owner.OrganizationID, owner.UserID, messageID)
		if err != nil || tag.RowsAffected() > 0 {
			return true, err
		}
		message, err := findMessage(ctx, tx, owner, messageID)
		if err == nil && !message.Status.Terminal() && message.SharedIn != nil {
			err = chat.ErrNotAsker
		}
		return false, err
	})
}

// AttachSources implements chat.Store. It locks the thread to enforce the limit.
func (db *DB) AttachSources(
	ctx context.Context, owner identity.Owner, p chat.Preparation,
) (chat.Thread, uuid.UUID, error) {
	id := uuidv7.New()
	thread, err := db.changeThread(ctx, owner, p.ThreadID, func(tx pgx.Tx) error {
		if err := lockToAsk(ctx, tx, owner, p.ThreadID); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO preparations (id, organization_id, user_id, request_id, thread_id, data_source_ids)
			VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (user_id, request_id) DO NOTHING`,
			id, owner.OrganizationID, owner.UserID, p.RequestID, p.ThreadID, p.SourceIDs)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			id, err = samePreparation(ctx, tx, owner, p)
			return err
		}
		return attach(ctx, tx, owner, p)
	})
	return thread, id, err
}

// samePreparation returns the id of an earlier preparation by the same request. It returns ErrRequestConflict if that
// preparation belongs to another thread or has other data sources.
func samePreparation(
	ctx context.Context, tx pgx.Tx, owner identity.Owner, p chat.Preparation,
) (id uuid.UUID, err error) {
	var threadID uuid.UUID
	var sources []uuid.UUID
	err = tx.QueryRow(ctx, `
		SELECT id, thread_id, data_source_ids
		FROM preparations
		WHERE organization_id = $1 AND user_id = $2 AND request_id = $3`,
		owner.OrganizationID, owner.UserID, p.RequestID).Scan(&id, &threadID, &sources)
	if err == nil && (threadID != p.ThreadID || !slices.Equal(sources, p.SourceIDs)) {
		err = chat.ErrRequestConflict
	}
	return id, err
}

func attach(ctx context.Context, tx pgx.Tx, owner identity.Owner, p chat.Preparation) error {
	var known, attached int
	err := tx.QueryRow(ctx, `
		WITH own AS (
		    SELECT d.id, w.place
		    FROM unnest($4::uuid[]) WITH ORDINALITY AS w (id, place)
		    JOIN data_sources d ON d.id = w.id AND d.organization_id = $1 AND d.user_id = $2
		), added AS (
		    INSERT INTO thread_data_sources (organization_id, thread_id, data_source_id)
		    SELECT $1, $3, id FROM own ORDER BY place
		    ON CONFLICT (thread_id, data_source_id) DO NOTHING
		    RETURNING data_source_id
		)
		SELECT (SELECT count(*) FROM own),
		       (SELECT count(*) FROM added) + (SELECT count(*) FROM thread_data_sources WHERE thread_id = $3)`,
		owner.OrganizationID, owner.UserID, p.ThreadID, p.SourceIDs).Scan(&known, &attached)
	switch {
	case err != nil:
		return err
	case known < len(p.SourceIDs):
		return noSource(nil)
	case attached > datasource.MaxSearchSources:
		return fault.Errorf(fault.Conflict, "一つのチャットで使えるファイルは%d件までです。新しいチャットを作成してください。",
			datasource.MaxSearchSources)
	}
	return exec(ctx, tx, `UPDATE threads SET updated_at = clock_timestamp() WHERE organization_id = $1 AND id = $2`,
		owner.OrganizationID, p.ThreadID)
}
