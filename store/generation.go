package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
)

// BeginGeneration implements chat.Store. It takes one round trip, because the user waits for it before the first token:
// it locks the thread, and the next statement sees everything that was committed before the lock was granted. If
// nothing was written, existingOrRefusal determines the reason.
func (db *DB) BeginGeneration(ctx context.Context, b chat.NewGeneration) (chat.StoredGeneration, error) {
	var written []beginRow
	var threads []chat.Thread
	sources := []uuid.UUID{} // Sources to attach. A repeated question may name deleted ones.
	if !b.Regenerate {
		sources = orEmpty(b.Question.DataSourceIDs)
	}
	lock := func(batch *pgx.Batch) {
		batch.Queue(lockThreadSQL, b.Owner.OrganizationID, b.Owner.UserID, b.Answer.ThreadID)
	}
	begin := func(batch *pgx.Batch) {
		batch.Queue(beginSQL(b, len(sources) > 0), b.Owner.OrganizationID, b.Owner.UserID, b.Answer.ThreadID, b.RequestID, b.RequestHash[:],
			b.ServerID,
			b.Question.ID, b.Answer.ID, b.Question.Content, b.Question.Prompt, b.Regenerate, b.Answer.Status,
			b.Title, b.Answer.Run, b.Question.ParentID, b.Question.Form, sources,
			b.Answer.ModelID, b.Answer.ModelName, b.Answer.Thinking, b.Question.Params, b.WaitingID).Query(collect(&written))
		if !b.Regenerate && len(b.Question.Pictures) > 0 {
			ids := convert(b.Question.Pictures, func(p picture.Picture) uuid.UUID { return p.ID })
			queuePictures(batch, b.Owner, b.Question.ID, ids)
		}
		if len(sources) > 0 { // beginSQL does not see the rows that it attaches.
			queueThread(batch, b.Owner, b.Answer.ThreadID, &threads)
		}
	}
	err := db.begins.do(ctx, groupTx{thread: b.Answer.ThreadID, first: lock, then: begin})
	switch {
	case violates(err, "thread_data_sources_organization_id_data_source_id_fkey"):
		return chat.StoredGeneration{}, noSource(err) // Deleted at the same time.
	case isNoPicture(err):
		return chat.StoredGeneration{}, picture.ErrNoPicture
	case violates(err, "generations_user_id_request_id_key"):
		// Another thread used the same request id concurrently, and therefore with another body.
		return chat.StoredGeneration{}, chat.ErrRequestConflict
	case err != nil:
		return chat.StoredGeneration{}, err
	case len(written) == 0:
		return db.existingOrRefusal(ctx, b, sources)
	}
	if len(threads) > 0 {
		written[0].Sources = threads[0].Sources
	}
	return written[0].generation(b), nil
}

// queuePictures adds the pictures of a question if the question is stored.
func queuePictures(batch *pgx.Batch, owner identity.Owner, questionID uuid.UUID, ids []uuid.UUID) {
	batch.Queue(`
		INSERT INTO message_pictures (organization_id, user_id, message_id, picture_id, place)
		SELECT m.organization_id, $2, m.id, w.id, w.place
		FROM messages m, unnest($4::uuid[]) WITH ORDINALITY AS w (id, place)
		WHERE m.organization_id = $1 AND m.id = $3`,
		owner.OrganizationID, owner.UserID, questionID, ids)
}

// isNoPicture reports whether err means that a picture of a question does not exist or belongs to another user.
func isNoPicture(err error) bool {
	return violates(err, "message_pictures_organization_id_user_id_picture_id_fkey")
}

// existingOrRefusal returns the exchange that the same request began earlier, or the reason for which it cannot begin.
func (db *DB) existingOrRefusal(ctx context.Context, b chat.NewGeneration, sources []uuid.UUID) (chat.StoredGeneration, error) {
	thread, err := db.FindThread(ctx, b.Owner, b.Answer.ThreadID)
	if err != nil {
		return chat.StoredGeneration{}, err
	}
	if !thread.MayAsk() {
		return chat.StoredGeneration{}, chat.ErrReadOnly
	}
	request, err := queryRow[requestRow](ctx, db.pool, findRequestSQL, b.Owner.OrganizationID, b.Owner.UserID,
		b.RequestID)
	switch {
	case isNoRows(err):
		if err := db.checkSources(ctx, b.Owner, b.Answer.ThreadID, sources); err != nil {
			return chat.StoredGeneration{}, err
		}
		return chat.StoredGeneration{}, chat.ErrThreadBusy // The running answer may have ended by now.
	case err != nil:
		return chat.StoredGeneration{}, err
	}
	exchange, err := request.exchange(ctx, db.pool, b.Owner, b.RequestHash)
	switch {
	case err != nil:
		return chat.StoredGeneration{}, err
	case exchange == nil: // Its thread was deleted; the hashes match, so it is this thread.
		return chat.StoredGeneration{}, chat.ErrNoThread
	}
	return chat.StoredGeneration{Owner: b.Owner, Exchange: *exchange, Existing: true}, nil
}

// checkSources refuses data sources that do not belong to the owner or that exceed the limit of a thread.
func (db *DB) checkSources(ctx context.Context, owner identity.Owner, threadID uuid.UUID, sources []uuid.UUID) error {
	var own, used int
	err := db.pool.QueryRow(ctx, `
		SELECT (SELECT count(*)
		        FROM data_sources d
		        WHERE d.organization_id = $1 AND d.id = ANY ($4) AND `+isUsable+`),
		       (SELECT count(*) FROM (SELECT data_source_id FROM thread_data_sources WHERE thread_id = $3
		                              UNION SELECT unnest($4::uuid[])) used)`,
		owner.OrganizationID, owner.UserID, threadID, sources).Scan(&own, &used)
	switch {
	case err != nil:
		return translate(err)
	case own < len(sources):
		return noSource(nil)
	case len(sources) > 0 && used > datasource.MaxSearchSources:
		return fault.InvalidField("data_source_ids", "一つのチャットで使えるファイルは%d件までです。新しいチャットを作成してください。",
			datasource.MaxSearchSources)
	}
	return nil
}

// isUsable is the condition that the data source d is the one of the user $2, or attached to the thread $3.
const isUsable = `(d.user_id = $2 OR EXISTS (
	SELECT FROM thread_data_sources a WHERE a.thread_id = $3 AND a.data_source_id = d.id))`

// beginSQL returns the statement that stores the question, unless it is already stored, the answer and its generation,
// and touches the thread. The statement does nothing if the user may not ask in the thread, the request is known, an
// answer is being generated, or another question waits before this one. Its parameters are organization, user, thread,
// request, its hash, server, question, answer, the question's content and prompt, whether the question is already stored,
// the answer's status, the title of an untitled thread, the run, the question's parent and its form values (both may be
// NULL), its data sources, the maximum number of data sources of a thread, the answer's model, the model's name, whether
// it reasons, the question's parameters, which may be NULL, and the waiting question that begins, NULL for a new one.
// Each CTE reads the rows of the preceding one, which determines the order of the writes.
//
// A thread is also untitled if its title is its first question and that question is edited now.
//
// The statement has only the parts that the question needs, because the database prepares the plans of all parts, and the
// user waits for that.
func beginSQL(b chat.NewGeneration, sources bool) string {
	allowed, attach, dequeue := "", "", ""
	first := `$22::uuid IS NULL AND NOT EXISTS (SELECT FROM waiting_questions w WHERE w.thread_id = $3)`
	questions, answers := `m.thread_id = $3 AND m.parent_id IS NULL`, `'{}'::uuid[]`
	if sources {
		allowed, attach = usableSources, attachSources
	}
	if b.Question.ParentID != nil {
		questions = `m.parent_id = $15`
	}
	if b.Regenerate {
		answers = `ARRAY(SELECT m.id FROM messages m WHERE m.parent_id = $7 ORDER BY m.seq)`
	}
	if b.WaitingID != nil {
		first = `$22 = (SELECT w.id FROM waiting_questions w WHERE w.thread_id = $3 ORDER BY w.place LIMIT 1)`
		dequeue = `, begun AS (
		    DELETE FROM waiting_questions w USING generation WHERE w.id = $22
		)`
	}
	return `
	WITH allowed AS (
	    SELECT t.id, CASE WHEN t.visibility = 'project' THEN $2::uuid END AS author,
	           t.expires_at IS NULL AND (t.title = '' OR (t.title_provisional AND $15::uuid IS NULL AND NOT $11)) AS untitled
	    FROM threads t
	    WHERE t.id = $3 AND t.organization_id = $1 AND ` + mayOpen + ` AND NOT ` + isArchived + `
	      AND ` + first + `
	      AND NOT EXISTS (SELECT FROM generations g WHERE g.organization_id = $1
	          AND g.user_id = $2 AND g.request_id = $4)
	      AND NOT EXISTS (SELECT FROM generations g
	                      WHERE g.organization_id = $1 AND g.thread_id = $3 AND g.ended_at IS NULL)` + allowed + `
	)` + attach + `, stored AS (
	    INSERT INTO messages (id, organization_id, thread_id, parent_id, role, content, prompt, form, data_source_ids, params,
	                          status, completed_at, author_id, model_id, model_name, thinking)
	    SELECT $7::uuid, $1, $3, $15::uuid, 'user', $9, $10, $16::jsonb, $17::uuid[], $21::json, 'success', now(), author,
	           '', '', NULL
	    FROM allowed
	    WHERE NOT $11
	    UNION ALL
	    SELECT $8, $1, $3, $7, 'assistant', '', '', NULL, '{}', NULL, $12, NULL, NULL, $18, $19, $20::boolean
	    FROM allowed
	    RETURNING id, role
	), generation AS (
	    INSERT INTO generations (message_id, organization_id, user_id, thread_id, request_id,
	        request_hash, server_id, run)
	    SELECT id, $1, $2, $3, $4, $5, $6, $14
	    FROM stored
	    WHERE role = 'assistant'
	    RETURNING message_id
	)` + dequeue + `
	UPDATE threads t
	SET updated_at = clock_timestamp(), touched_at = clock_timestamp(), archived = false,
	    leaf_id = generation.message_id,
	    title = CASE WHEN untitled THEN $13 ELSE t.title END, title_provisional = t.title_provisional OR untitled
	FROM allowed, generation, skills s
	WHERE t.id = $3 AND t.organization_id = $1 AND s.id = t.skill_id
	RETURNING ` + threadColumns + `, true AS running, now() AS begun_at, untitled,
	          (SELECT jsonb_build_object('ID', u.id, 'Name', u.name) FROM users u WHERE u.id = allowed.author) AS author,
	          ARRAY(SELECT m.id FROM messages m WHERE ` + questions + ` ORDER BY m.seq) AS questions,
	          ` + answers + ` AS answers`
}

// usableSources is the condition in beginSQL that the user may attach all data sources of the question to the thread.
var usableSources = `
	      AND cardinality($17::uuid[]) = (
	          SELECT count(*) FROM data_sources d
	          WHERE d.organization_id = $1 AND d.id = ANY ($17) AND ` + isUsable + `)
	      AND ` + strconv.Itoa(datasource.MaxSearchSources) + ` >= (SELECT count(*)
	                  FROM (SELECT a.data_source_id
	                        FROM thread_data_sources a
	                        WHERE a.thread_id = $3
	                        UNION
	                        SELECT unnest($17)) used)`

// attachSources is the part of beginSQL that attaches the data sources of the question to the thread.
const attachSources = `, attached AS (
	    INSERT INTO thread_data_sources (organization_id, thread_id, data_source_id)
	    SELECT $1, $3, w.id FROM allowed, unnest($17::uuid[]) WITH ORDINALITY AS w (id, place) ORDER BY w.place
	    ON CONFLICT (thread_id, data_source_id) DO NOTHING
	)`

// beginRow is the result of beginSQL. Only the times come from the database. Questions and Answers are the siblings
// that existed before.
type beginRow struct {
	chat.Thread
	BegunAt   time.Time
	Untitled  bool
	Author    *chat.Author
	Questions []uuid.UUID
	Answers   []uuid.UUID
}

func (r beginRow) generation(b chat.NewGeneration) chat.StoredGeneration {
	exchange := b.Exchange
	if r.Shared {
		exchange.Question.SharedIn, exchange.Answer.SharedIn = &r.Project.ID, &r.Project.ID
	}
	if !b.Regenerate {
		exchange.Question.Author = r.Author
		exchange.Question.CreatedAt, exchange.Question.CompletedAt = r.BegunAt, &r.BegunAt
		exchange.Question.Siblings = slices.Concat(r.Questions, []uuid.UUID{b.Question.ID})
	}
	exchange.Answer.CreatedAt = r.BegunAt
	exchange.Answer.Siblings = slices.Concat(r.Answers, []uuid.UUID{b.Answer.ID})
	return chat.StoredGeneration{Owner: b.Owner, Exchange: exchange, Thread: r.Thread, Untitled: r.Untitled}
}

func (db *DB) StartAnswer(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (bool, error) {
	tag, err := db.pool.Exec(ctx, `
		UPDATE messages m
		SET status = 'running'
		FROM threads t
		WHERE m.id = $3 AND m.organization_id = $1 AND m.status = 'pending' AND t.id = m.thread_id
		  AND `+isOpenTo,
		owner.OrganizationID, owner.UserID, messageID)
	return tag.RowsAffected() == 1, translate(err)
}

// EndGeneration implements chat.Store. Data that the columns refuse now is refused on every retry.
func (db *DB) EndGeneration(ctx context.Context, o chat.Outcome) (chat.EndResult, error) {
	ended, err := db.endGeneration(ctx, o)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && fault.CodeOf(err) == fault.Internal && isRefusal(pg.Code) {
		return chat.EndResult{}, fault.Wrap(err, fault.Invalid, "回答を保存できませんでした。")
	}
	return ended, err
}

// isRefusal reports whether an SQLSTATE means that the data can never be stored: class 22 data exception, 23 constraint
// violation, 54 program limit exceeded.
func isRefusal(code string) bool {
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23") || strings.HasPrefix(code, "54")
}

// endGeneration is EndGeneration without the translation of errors. Writing the row checks run and server again, so
// that a slow server cannot overwrite the answer of the server that took the generation over.
func (db *DB) endGeneration(ctx context.Context, o chat.Outcome) (chat.EndResult, error) {
	var (
		threads []chat.Thread
		written []endRow
		message = storedOutcome(o)
	)
	touch := func(batch *pgx.Batch) {
		batch.Queue(`
			UPDATE threads t
			SET updated_at = clock_timestamp()
			FROM skills s
			WHERE t.id = (SELECT g.thread_id FROM generations g
			    WHERE g.message_id = $1 AND `+isCurrentRun+`) AND s.id = t.skill_id
			RETURNING `+threadColumns+`, false AS running`,
			o.MessageID, o.Run, o.ServerID).Query(collect(&threads))
	}
	end := func(batch *pgx.Batch) {
		queueOutcome(batch, message, o.ServerID, o.Checkpointed, &written)
		queueToolUses(batch, o, isEndedNow)
	}
	err := db.ends.do(ctx, groupTx{thread: o.ThreadID, first: touch, then: end, usage: &usage{
		owner: o.Owner, model: o.ModelID, inputTokens: o.InputTokens, outputTokens: o.OutputTokens,
		answer: &o.MessageID, server: o.ServerID, run: o.Run,
	}})
	switch {
	case err != nil:
		return chat.EndResult{}, err
	case len(threads) == 0 || len(written) == 0:
		return db.findEndResult(ctx, o)
	}
	message.ParentID, message.Siblings = written[0].ParentID, written[0].Siblings
	message.CreatedAt, message.CompletedAt = written[0].CreatedAt, written[0].CompletedAt
	message.Citations = written[0].Citations
	message.InputTokens, message.OutputTokens = written[0].InputTokens, written[0].OutputTokens
	if threads[0].Shared {
		message.SharedIn = &threads[0].Project.ID
		message.Citations = db.commonCitations(ctx, *message.SharedIn, message.Citations)
	}
	return chat.EndResult{Thread: threads[0], Message: message}, nil
}

// commonCitations returns citations as all members of a project may see them. If it cannot be determined which files
// are in the project, it hides all of them.
func (db *DB) commonCitations(ctx context.Context, projectID uuid.UUID, citations []chat.Citation) []chat.Citation {
	ids := citedFiles(citations)
	if len(ids) == 0 {
		return citations
	}
	common, err := projectSources(ctx, db.pool, projectID, ids)
	if err != nil {
		common = nil
	}
	return chat.HideCitations(citations, common)
}

// findEndResult returns the stored records if this run of this server has ended already: the first attempt was
// committed, but its acknowledgement was lost.
func (db *DB) findEndResult(ctx context.Context, o chat.Outcome) (result chat.EndResult, err error) {
	over, err := queryValue[bool](ctx, db.pool, `
		SELECT EXISTS (SELECT FROM generations
		               WHERE message_id = $1 AND run = $2 AND server_id = $3 AND ended_at IS NOT NULL)`,
		o.MessageID, o.Run, o.ServerID)
	if err == nil && !over {
		err = chat.ErrStaleRun
	}
	if err != nil {
		return chat.EndResult{}, err
	}
	if result.Thread, err = findGenerationThread(ctx, db.pool, o.Owner, o.ThreadID); err == nil {
		var exchange chat.Exchange
		exchange, err = findExchange(ctx, db.pool, o.Owner, o.MessageID)
		result.Message = exchange.Answer
	}
	if err == nil && result.Thread.Shared {
		result.Message.Citations = db.commonCitations(ctx, result.Thread.Project.ID, result.Message.Citations)
	}
	if fault.CodeOf(err) == fault.NotFound {
		return chat.EndResult{}, chat.ErrStaleRun // Deleted meanwhile.
	}
	return result, err
}

// storedOutcome returns the message to store for an outcome.
func storedOutcome(o chat.Outcome) chat.Message {
	m := chat.Message{
		ID: o.MessageID, ThreadID: o.ThreadID, Role: chat.RoleAssistant, Content: storable(o.Content), Status: o.Status,
		Reasoning: storable(o.Reasoning), ReasoningTime: o.ReasoningTime.Truncate(time.Millisecond),
		FinishReason: o.FinishReason, Model: storable(o.Model), ModelID: o.ModelID, ModelName: o.ModelName,
		InputTokens:  storableCount(o.InputTokens),
		OutputTokens: storableCount(o.OutputTokens), Citations: orEmpty(o.Citations), Steps: orEmpty(o.Steps),
		Run: o.Run, Proofread: o.Proofread, ToolCalls: orNil(convert(o.ToolCalls, storableCall)),
	}
	if o.Failure != nil {
		m.Failure = &chat.Failure{
			Code: storable(o.Failure.Code), Detail: storable(o.Failure.Detail), Retryable: o.Failure.Retryable,
		}
	}
	return m
}

// isCurrentRun is the condition that the generation of a known message is running as run $2 on server $3. The CASE
// makes the planner look up the message. Otherwise it would use the index of running generations, which still contains
// entries of all generations that the server has ended recently.
const isCurrentRun = `CASE WHEN ended_at IS NULL THEN run = $2 AND server_id = $3 END`

// endRow has the columns of a completed answer that the database sets.
type endRow struct {
	ParentID    *uuid.UUID
	Siblings    []uuid.UUID
	CreatedAt   time.Time
	CompletedAt *time.Time
	Citations   []chat.Citation

	InputTokens, OutputTokens int // Totals.
}

// queueOutcome ends the generation and completes the message, if the run belongs to the server.
//
// A cited file may be deleted while the answer is written. The lock on the cited files makes the deletion wait for the
// commit, after which it finds the answer's quotes.
func queueOutcome(batch *pgx.Batch, m chat.Message, serverID uuid.UUID, checkpointed bool, written *[]endRow) {
	failure := chat.Failure{}
	if m.Failure != nil {
		failure = *m.Failure
	}
	args := []any{
		m.ID, m.Run, serverID, m.Content, m.Status, m.FinishReason, failure.Code, failure.Detail, failure.Retryable,
		m.Model, m.InputTokens, m.OutputTokens, m.Citations, m.Steps, m.Reasoning,
		storableCount(int(m.ReasoningTime.Milliseconds())), m.ModelID, m.ModelName, m.Proofread, m.ToolCalls,
	}
	lock, citations := "", "$13::jsonb"
	if cited := citedFiles(m.Citations); len(cited) > 0 {
		args = append(args, cited)
		lock = `, cited AS (
		    SELECT id FROM data_sources WHERE id = ANY ($21::uuid[]) ORDER BY id FOR KEY SHARE
		)`
		citations = withoutDeleted(citations,
			"c ? 'data_source_id' AND (c->>'data_source_id')::uuid NOT IN (SELECT id FROM cited)")
	}
	clear := ""
	if checkpointed {
		clear = `, cleared AS (
		    DELETE FROM checkpoints c USING ended WHERE c.message_id = ended.message_id
		), cleared_tools AS (
		    DELETE FROM tool_calls c USING ended WHERE c.message_id = ended.message_id
		), canceled_approvals AS (
		    UPDATE tool_approvals a
		    SET decision = 'canceled', decided_at = now()
		    FROM ended
		    WHERE a.message_id = ended.message_id AND a.decision IS NULL
		)`
	}
	batch.Queue(`
		WITH ended AS (
		    UPDATE generations
		    SET ended_at = now()
		    WHERE message_id = $1 AND `+isCurrentRun+`
		    RETURNING message_id
		)`+clear+lock+`
		UPDATE messages m
		SET content = $4, status = $5, finish_reason = $6, error_code = $7, error_detail = $8, error_retryable = $9,
		    model = $10, `+moreTokens("$11", "$12")+`, steps = $14,
		    citations = `+citations+`,
		    reasoning = $15, reasoning_ms = $16, model_id = $17, model_name = $18, proofread = $19,
		    tool_calls = $20, completed_at = clock_timestamp()
		FROM ended
		WHERE m.id = ended.message_id
		RETURNING m.parent_id, `+siblings+` AS siblings, m.created_at, m.completed_at, m.citations, m.input_tokens,
		          m.output_tokens`,
		args...).Query(collect(written))
}

// storableCount clamps a count to the column's range. Providers may report any number, and an answer that cannot be
// stored would be retried endlessly.
func storableCount(n int) int { return min(max(n, 0), math.MaxInt32) }
