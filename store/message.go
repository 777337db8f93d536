package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// messageRow is a message with the columns that its fields are made of.
type messageRow struct {
	chat.Message
	ErrorCode       string
	ErrorDetail     string
	ErrorRetryable  bool
	ReasoningMs     int
	ThreadTitle     string
	ThreadUpdatedAt time.Time
	FeedbackRating  *chat.Rating
	FeedbackComment string
	FeedbackText    bool
	Accepted        []int
	Refused         []int
	CitesProject    bool
}

func (r messageRow) message() chat.Message {
	m := r.Message
	if m.SharedIn == nil || m.Role != chat.RoleUser {
		m.Author = nil
	} else if m.Author == nil {
		m.Author = &chat.Author{} // The member was removed.
	}
	m.DataSourceIDs, m.Pictures = orNil(m.DataSourceIDs), orNil(m.Pictures)
	m.ReasoningTime = time.Duration(r.ReasoningMs) * time.Millisecond
	if r.ThreadTitle != "" {
		m.ThreadTitle = chat.Title{Text: r.ThreadTitle, UpdatedAt: r.ThreadUpdatedAt}
	}
	if r.Status == chat.StatusFailed {
		m.Failure = &chat.Failure{Code: r.ErrorCode, Detail: r.ErrorDetail, Retryable: r.ErrorRetryable}
	}
	if r.FeedbackRating != nil {
		m.Feedback = &chat.Feedback{
			Rating: *r.FeedbackRating, Comment: r.FeedbackComment, WithText: r.FeedbackText,
		}
	}
	if r.Accepted != nil {
		m.Decisions = &proofread.Decisions{Accepted: r.Accepted, Refused: r.Refused}
	}
	return m
}

// siblings is the ids of the messages with the same parent as the message m, including m.
const siblings = `CASE WHEN m.parent_id IS NULL
	    THEN ARRAY(SELECT s.id FROM messages s WHERE s.thread_id = m.thread_id AND s.parent_id IS NULL ORDER BY s.seq)
	    ELSE ARRAY(SELECT s.id FROM messages s WHERE s.parent_id = m.parent_id ORDER BY s.seq)
	END`

// allMessages begins every query for messages. Its first two parameters are the organization and the user.
const allMessages = `
	SELECT m.id, m.thread_id, m.parent_id, ` + siblings + ` AS siblings, m.role, m.content, m.prompt, m.form,
	       m.data_source_ids, m.params, ` + picturesOf + ` AS pictures, m.status,
	       coalesce(m.finish_reason, '') AS finish_reason,
	       m.error_code, m.error_detail, m.error_retryable, m.model, m.model_id, m.model_name, m.thinking,
	       m.reasoning, m.reasoning_ms,
	       m.input_tokens, m.output_tokens,
	       m.citations, m.steps, m.tool_calls, m.proofread, coalesce(g.run, 0) AS run,
	       g.waiting_server_id IS NOT NULL AS awaits_approval,
	       CASE WHEN g.continued_run = g.run THEN g.continued END AS continued,
	       CASE WHEN t.title_provisional THEN '' ELSE t.title END AS thread_title,
	       t.updated_at AS thread_updated_at, f.rating AS feedback_rating,
	       coalesce(f.comment, '') AS feedback_comment, coalesce(f.shows = 'text', false) AS feedback_text,
	       d.accepted, d.refused, m.suggestions, m.created_at, m.completed_at,
	       CASE WHEN t.visibility = 'project' THEN t.project_id END AS shared_in, t.cites_project,
	       (SELECT jsonb_build_object('ID', u.id, 'Name', u.name) FROM users u WHERE u.id = m.author_id) AS author
	FROM messages m
	LEFT JOIN generations g ON g.message_id = m.id
	LEFT JOIN message_feedback f ON f.message_id = m.id AND f.user_id = $2
	LEFT JOIN message_decisions d ON d.message_id = m.id
	JOIN threads t ON t.id = m.thread_id AND t.organization_id = $1`

// selectMessage begins a query for messages that the user may read.
const selectMessage = allMessages + ` AND ` + mayRead

// queryMessages reads messages. begin is selectMessage, or a condition after allMessages; rest follows it.
func queryMessages(
	ctx context.Context, q querier, owner identity.Owner, begin, rest string, args ...any,
) ([]chat.Message, error) {
	rows, err := queryRows[messageRow](ctx, q, begin+rest, append([]any{owner.OrganizationID, owner.UserID}, args...)...)
	if err != nil {
		return nil, err
	}
	return readableMessages(ctx, q, owner, rows)
}

// readableMessages converts rows to messages, without the content of files that the user may not open.
func readableMessages(
	ctx context.Context, q querier, owner identity.Owner, rows []messageRow,
) ([]chat.Message, error) {
	messages := convert(rows, messageRow.message)
	var cited []chat.Citation
	for _, r := range rows {
		if r.CitesProject { // Otherwise all files are the owner's.
			cited = append(cited, r.Citations...)
		}
	}
	if len(cited) == 0 {
		return messages, nil
	}
	readable, err := readableSources(ctx, q, owner, citedFiles(cited))
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if r.CitesProject {
			messages[i].Citations = chat.HideCitations(messages[i].Citations, readable)
		}
	}
	return messages, nil
}

// readableSources returns those of the data sources that the user may open now.
func readableSources(
	ctx context.Context, q querier, owner identity.Owner, ids []uuid.UUID,
) (map[uuid.UUID]bool, error) {
	return idSet(queryValues[uuid.UUID](ctx, q, `
		SELECT d.id FROM data_sources d WHERE d.id = ANY ($3) AND `+isReadable,
		owner.OrganizationID, owner.UserID, ids))
}

// projectSources returns those of the data sources that are in a project.
func projectSources(ctx context.Context, q querier, projectID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	return idSet(queryValues[uuid.UUID](ctx, q, `
		SELECT k.data_source_id FROM project_sources k WHERE k.project_id = $1 AND k.data_source_id = ANY ($2)`,
		projectID, ids))
}

func idSet(ids []uuid.UUID, err error) (map[uuid.UUID]bool, error) {
	set := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set, err
}

func (db *DB) ListMessages(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, leaf *uuid.UUID, offset, limit int,
) ([]chat.Message, error) {
	rows, err := queryRows[messageRow](ctx, db.pool, branchSQL+selectMessage+`
		JOIN branch b ON b.id = m.id
		ORDER BY m.seq DESC
		OFFSET $5 LIMIT $6`, owner.OrganizationID, owner.UserID, threadID, leaf, offset, limit)
	if err == nil && len(rows) == 0 {
		// The page is empty, or the thread or message does not belong to the owner.
		if _, err = findThread(ctx, db.pool, owner, threadID); err == nil && leaf != nil {
			_, err = newestAfter(ctx, db.pool, owner, threadID, *leaf)
		}
	}
	if err != nil {
		return nil, err
	}
	return readableMessages(ctx, db.pool, owner, rows)
}

func (db *DB) ListAllMessages(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, limit int,
) ([]chat.Message, error) {
	return queryMessages(ctx, db.pool, owner, selectMessage, ` WHERE m.thread_id = $3 ORDER BY m.seq LIMIT $4`,
		threadID, limit)
}

// branchSQL reads the ids of a branch, from its end to the end of a page. Its parameters are the owner's organization
// and user, the thread, a message of the branch or NULL, the offset of the page, and its length.
const branchSQL = `
	WITH RECURSIVE ` + afterSQL + `, branch AS (
	    SELECT m.id, m.parent_id, 1 AS length
	    FROM threads t
	    CROSS JOIN LATERAL (
	        SELECT * FROM messages WHERE id = CASE WHEN $4::uuid IS NULL THEN t.leaf_id
	            ELSE (SELECT a.id FROM after a ORDER BY a.seq DESC LIMIT 1) END ` + fence + `) m
	    WHERE t.id = $3 AND m.thread_id = t.id AND t.organization_id = $1 AND ` + isOpenTo + `
	    UNION ALL
	    SELECT p.id, p.parent_id, b.length + 1
	    FROM branch b
	    CROSS JOIN LATERAL (SELECT * FROM messages WHERE id = b.parent_id ` + fence + `) p
	    WHERE b.length < $5::int + $6::int
	)`

// fence ends a subquery that PostgreSQL must not merge into the query. Without it, messages are not always found by an
// index: PostgreSQL cannot estimate the number of rows of a recursive query, and may read the whole table for each message
// of a branch.
const fence = `OFFSET 0`

// afterSQL is the message $4 of the thread $3 with all its descendants in all branches. The newest of them is a leaf,
// because messages are stored after their parents.
const afterSQL = `after AS (
	    SELECT m.id, m.seq
	    FROM messages m
	    JOIN threads t ON t.id = m.thread_id AND t.organization_id = $1 AND ` + isOpenTo + `
	    WHERE m.id = $4 AND m.thread_id = $3
	    UNION ALL
	    SELECT c.id, c.seq
	    FROM after a
	    CROSS JOIN LATERAL (SELECT * FROM messages WHERE parent_id = a.id ` + fence + `) c
	)`

// newestAfter returns the end of the branch through a message of a thread.
func newestAfter(ctx context.Context, q querier, owner identity.Owner, threadID, id uuid.UUID) (uuid.UUID, error) {
	return findValue[uuid.UUID](ctx, q, chat.ErrNoMessage, `WITH RECURSIVE `+afterSQL+`
		SELECT a.id FROM after a ORDER BY a.seq DESC LIMIT 1`, owner.OrganizationID, owner.UserID, threadID, id)
}

func (db *DB) LastAnswer(ctx context.Context, owner identity.Owner, threadID uuid.UUID) (*chat.Message, error) {
	list, err := queryMessages(ctx, db.pool, owner, selectMessage, `
		WHERE m.thread_id = $3 AND m.organization_id = $1 AND m.role = 'assistant'
		ORDER BY m.seq DESC
		LIMIT 1`, threadID)
	if err == nil && len(list) == 0 {
		_, err = findThread(ctx, db.pool, owner, threadID)
	}
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func (db *DB) FindMessage(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.Message, error) {
	return findMessage(ctx, db.pool, owner, id)
}

func findMessage(ctx context.Context, q querier, owner identity.Owner, id uuid.UUID) (chat.Message, error) {
	list, err := queryMessages(ctx, q, owner, selectMessage, ` WHERE m.id = $3 AND m.organization_id = $1`, id)
	switch {
	case err != nil:
		return chat.Message{}, err
	case len(list) == 0:
		return chat.Message{}, chat.ErrNoMessage
	}
	return list[0], nil
}

// ofGeneration begins a query for the messages of a generation of the user.
const ofGeneration = allMessages + ` AND ` + isOpenTo

// findExchange reads an answer of the user and its question.
func findExchange(ctx context.Context, q querier, owner identity.Owner, answerID uuid.UUID) (chat.Exchange, error) {
	list, err := queryMessages(ctx, q, owner, ofGeneration, `
		WHERE m.organization_id = $1
		  AND m.id IN ($3, (SELECT a.parent_id FROM messages a WHERE a.id = $3 AND a.organization_id = $1))
		ORDER BY m.seq`, answerID)
	switch {
	case err != nil:
		return chat.Exchange{}, err
	case len(list) != 2:
		return chat.Exchange{}, chat.ErrNoMessage
	}
	return chat.Exchange{Question: list[0], Answer: list[1]}, nil
}

// findRequestSQL finds the generation that a request began. Its parameters are organization, user and request id. The
// function thread_progress has the same condition.
const findRequestSQL = `
	SELECT message_id, request_hash FROM generations
	WHERE organization_id = $1 AND user_id = $2 AND request_id = $3`

type requestRow struct {
	MessageID   uuid.UUID
	RequestHash []byte
}

func (db *DB) LoadThreadState(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, parent *uuid.UUID, requestID uuid.UUID, hash [32]byte,
	limit chat.HistoryLimit,
) (chat.ThreadState, error) {
	request := newThreadRequest(threadID, parent, requestID, limit)
	rows := prefetched(ctx, owner, request)
	if rows == nil {
		rows = &threadRows{owner: owner}
		if err := send(ctx, db.pool, func(batch *pgx.Batch) { rows.queue(batch, request) }); err != nil {
			return chat.ThreadState{}, err
		}
	}
	if len(rows.threads) == 0 {
		return chat.ThreadState{}, chat.ErrNoThread
	}
	thread := rows.threads[0]
	if progress := thread.Progress; progress != nil && progress.Known {
		request, err := queryRow[requestRow](ctx, db.pool, findRequestSQL, owner.OrganizationID, owner.UserID, requestID)
		if err != nil && !isNoRows(err) {
			return chat.ThreadState{}, err
		}
		if err == nil {
			known, err := request.exchange(ctx, db.pool, owner, hash)
			if known != nil || err != nil {
				return chat.ThreadState{Existing: known}, err
			}
		}
	}
	state := thread.threadState(rows.history)
	if parent != nil && state.Leaf == nil {
		return chat.ThreadState{}, chat.ErrNoMessage
	}
	return state, nil
}

// modelsOfMember is the models of the organization o that the user $2 may choose. A call of member_models takes longer
// than the rest of threadStateSQL, because the database plans the function's query for each call.
const modelsOfMember = `
	CASE WHEN jsonb_path_exists(o.models, '$.models[*].groups') THEN member_models(o.models, $2) ELSE o.models END`

// threadStateSQL reads the data of a thread and its skill that a new question needs. It is one query, because the user
// waits for the first token. Its fourth parameter is the answer that the question follows, NULL for the end of the
// branch that was shown last; its fifth one the id of the request.
const threadStateSQL = `
	SELECT CASE WHEN coalesce($4, t.leaf_id) IS NOT NULL
	            THEN thread_progress(t.id, coalesce($4, t.leaf_id), $2, $5) END AS progress,
	       t.skill_id, s.kind, coalesce(s.task_type, '') AS task_type, s.form_type, s.form_fields, s.prompt,
	       s.accepts_data_sources, s.answer_length, s.model, s.examples, s.tools, ` + documentsOf + ` AS documents,
	       ` + missingOf + ` AS missing, NOT ` + mayUse + ` AS withdrawn, s.retired_at IS NOT NULL AS archived,
	       ARRAY(SELECT a.data_source_id
	             FROM thread_data_sources a
	             WHERE a.thread_id = t.id
	             ORDER BY a.attached_at, a.data_source_id) AS data_source_ids,
	       coalesce(s.task_type, '') = '` + string(skill.TaskDocumentQA) + `' AND had_sources(t.id) AS had_sources,
	       ` + guidanceColumns + `, ` + modelsOfMember + ` AS models,
	       t.instructions AS thread_instructions,
	       ` + projectContext + ` AS project
	FROM threads t
	JOIN skills s ON s.id = t.skill_id AND (s.organization_id IS NULL OR s.organization_id = $1)
	JOIN organizations o ON o.id = t.organization_id
	LEFT JOIN profiles p ON p.user_id = $2
	WHERE t.organization_id = $1 AND t.id = $3 AND ` + mayOpen

// projectContext is the chat.ProjectContext of the thread t as JSON, NULL without a project.
const projectContext = `project_context(t.project_id, t.id, t.visibility = 'project')`

// threadStateRow is the result of threadStateSQL.
type threadStateRow struct {
	chat.ThreadState
	skill.Skill
	Progress           *threadProgress // Nil for a thread without messages.
	SkillID            uuid.UUID
	Missing            int
	ThreadInstructions string
	guidanceRow
}

// threadProgress is the result of the function thread_progress.
type threadProgress struct {
	Running, Waiting, Known bool
	Leaf                    *uuid.UUID
}

func (r threadStateRow) threadState(history []chat.Message) chat.ThreadState {
	s := r.ThreadState
	if p := r.Progress; p != nil {
		s.Running, s.HasWaiting, s.Leaf = p.Running, p.Waiting, p.Leaf
	}
	s.History, s.DataSourceIDs = oldestFirst(history), orNil(s.DataSourceIDs)
	s.Guidance, s.Instructions = r.guidance(), r.ThreadInstructions
	s.Skill = r.Skill
	s.Skill.ID, s.Skill.MissingDocuments = r.SkillID, r.Missing
	s.Skill.Examples, s.Skill.Documents, s.Skill.Tools = orNil(s.Skill.Examples), orNil(s.Skill.Documents), orNil(s.Skill.Tools)
	return s
}

// exchange returns the exchange that a known request began. It is nil if the thread was deleted between the two
// queries.
func (r requestRow) exchange(
	ctx context.Context, q querier, owner identity.Owner, hash [32]byte,
) (*chat.Exchange, error) {
	if !slices.Equal(r.RequestHash, hash[:]) {
		return nil, chat.ErrRequestConflict
	}
	exchange, err := findExchange(ctx, q, owner, r.MessageID)
	switch {
	case errors.Is(err, chat.ErrNoMessage):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &exchange, nil
}

// historySQL reads the messages of a branch that are sent to the model, newest first. Its parameters are the owner's
// organization and user, the thread, the last message or NULL for the end of the branch that was shown last, the maximum
// number of messages, the maximum number of bytes, and whether to read calls of tools.
const historySQL = `
	SELECT id, role, content, prompt, tool_calls, pictures
	FROM history_of_thread($1, $2, $3, $4, $5, $6, $7)`

// oldestFirst returns the result of historySQL as a history.
func oldestFirst(messages []chat.Message) []chat.Message {
	slices.Reverse(messages)
	for i := range messages {
		messages[i].Pictures = orNil(messages[i].Pictures)
	}
	return orNil(messages)
}

func (db *DB) History(ctx context.Context, owner identity.Owner, threadID, leaf uuid.UUID,
	limit chat.HistoryLimit,
) ([]chat.Message, error) {
	history, err := queryRows[chat.Message](ctx, db.pool, historySQL, owner.OrganizationID, owner.UserID, threadID, leaf,
		limit.Messages, limit.Bytes, limit.ToolCalls)
	if err == nil && len(history) == 0 {
		_, err = findGenerationThread(ctx, db.pool, owner, threadID)
	}
	return oldestFirst(history), err
}

func (db *DB) Opening(ctx context.Context, owner identity.Owner, threadID, leaf uuid.UUID) ([]chat.Message, error) {
	opening, err := queryRows[chat.Message](ctx, db.pool, `
		WITH RECURSIVE branch AS (
		    SELECT m.id, m.parent_id, m.seq
		    FROM messages m
		    JOIN threads t ON t.id = m.thread_id AND t.organization_id = $1 AND `+isOpenTo+`
		    WHERE m.id = $4 AND m.thread_id = $3
		    UNION ALL
		    SELECT m.id, m.parent_id, m.seq
		    FROM branch b
		    CROSS JOIN LATERAL (SELECT * FROM messages WHERE id = b.parent_id `+fence+`) m
		), opening AS (
		    SELECT id FROM branch ORDER BY seq LIMIT 2
		)
		SELECT m.id, m.role, m.content, m.prompt, m.form, `+picturesOf+` AS pictures
		FROM opening o
		JOIN messages m ON m.id = o.id
		WHERE is_sent_to_model(m)
		ORDER BY m.seq`, owner.OrganizationID, owner.UserID, threadID, leaf)
	for i := range opening {
		opening[i].Pictures = orNil(opening[i].Pictures)
	}
	return opening, err
}

// storable returns text that PostgreSQL accepts. It replaces NUL, which PostgreSQL cannot store, by SUB. Both have one
// byte, so that cursors of clients, which count bytes, remain valid.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\x1A")
}
