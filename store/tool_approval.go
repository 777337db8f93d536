package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// An answer that waits for decisions belongs to the server noServer, which is always alive. The order of locks is
// generation, call, approval.

// noServer is the server of answers that wait for decisions.
var noServer = uuid.Nil

// deadServer is a server that has never existed. Its answers are taken over at once.
var deadServer = uuid.Max

// queueApproval adds the request for a decision about a call that waits for one.
func queueApproval(batch *pgx.Batch, messageID uuid.UUID, call chat.ToolCall) {
	if call.State != chat.ToolWaiting {
		return
	}
	sum := sha256.Sum256([]byte(call.Arguments))
	batch.Queue(`
		INSERT INTO tool_approvals (id, organization_id, user_id, thread_id, message_id, call_id, tool, title, cause,
		    arguments_sha256, expires_at)
		SELECT $2, g.organization_id, g.user_id, g.thread_id, g.message_id, $3, $4, $5, $6, $7, $8
		FROM generations g
		WHERE g.message_id = $1
		ON CONFLICT (id) DO NOTHING`, // A repeated attempt.
		messageID, call.Approval.ID, call.ID, call.Name, call.Title, call.Approval.Cause, sum[:], call.Approval.ExpiresAt)
}

func (db *DB) AskAgain(ctx context.Context, serverID uuid.UUID, run chat.RunID, calls []chat.ToolCall) error {
	return db.changeRun(ctx, serverID, run, func(batch *pgx.Batch) {
		for _, call := range calls {
			call = storableCall(call)
			batch.Queue(`
				UPDATE tool_calls
				SET state = 'waiting', call = $3
				WHERE message_id = $1 AND call_id = $2 AND state = 'running'`, // Not in a repeated attempt.
				run.MessageID, call.ID, call)
			queueApproval(batch, run.MessageID, call)
		}
	})
}

// queueCall stores the state of a call.
func queueCall(batch *pgx.Batch, messageID uuid.UUID, call chat.ToolCall) {
	sum := sha256.Sum256([]byte(call.Arguments))
	batch.Queue(`
		UPDATE tool_calls
		SET state = $3, call = $4, arguments_sha256 = $5
		WHERE message_id = $1 AND call_id = $2`, messageID, call.ID, call.State, call, sum[:])
}

func (db *DB) ClaimToolCalls(ctx context.Context, serverID uuid.UUID, run chat.RunID, callIDs []string) error {
	return db.changeRun(ctx, serverID, run, func(batch *pgx.Batch) {
		batch.Queue(`
			UPDATE tool_calls
			SET state = 'running', call = jsonb_set(call, '{state}', '"running"')
			WHERE message_id = $1 AND call_id = ANY ($2) AND state = 'approved'`, run.MessageID, callIDs)
	})
}

func (db *DB) BeginWait(
	ctx context.Context, serverID uuid.UUID, run chat.RunID, callIDs []string,
) (chat.Wait, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (wait chat.Wait, err error) {
		wait.Stopped, err = findValue[bool](ctx, tx, chat.ErrStaleRun, `
			SELECT stop_requested_at IS NOT NULL
			FROM generations
			WHERE message_id = $1 AND CASE WHEN ended_at IS NULL
			    THEN run = $2 AND (server_id = $3 OR server_id = $4 AND waiting_server_id = $3) END
			FOR UPDATE`, run.MessageID, run.Run, serverID, noServer)
		if err != nil {
			return wait, err
		}
		decided, err := queryValue[bool](ctx, tx, `
			SELECT EXISTS (SELECT FROM tool_calls
			               WHERE message_id = $1 AND call_id = ANY ($2) AND state <> 'waiting')`, run.MessageID, callIDs)
		if err != nil {
			return wait, err
		}
		if wait.Waits = !decided && !wait.Stopped; !wait.Waits {
			wait.Calls, err = findCalls(ctx, tx, run.MessageID)
			return wait, err
		}
		return wait, send(ctx, tx, func(batch *pgx.Batch) {
			batch.Queue(`
				INSERT INTO servers (id, heartbeat_at) VALUES ($1, 'infinity')
				ON CONFLICT (id) DO UPDATE SET heartbeat_at = 'infinity'`, noServer) // After a restore it may have expired.
			batch.Queue(`UPDATE generations SET server_id = $2, waiting_server_id = $3 WHERE message_id = $1`,
				run.MessageID, noServer, serverID)
		})
	})
}

func findCalls(ctx context.Context, tx pgx.Tx, messageID uuid.UUID) ([]chat.ToolCall, error) {
	return queryValues[chat.ToolCall](ctx, tx, `
		SELECT call FROM tool_calls WHERE message_id = $1 ORDER BY round, ordinal`, messageID)
}

// EndWait implements chat.Store. It locks the generation: a decision in between must not make it look like another
// server's.
func (db *DB) EndWait(ctx context.Context, serverID uuid.UUID, run chat.RunID, force bool) (chat.Wait, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (wait chat.Wait, err error) {
		wait.Waits, err = findValue[bool](ctx, tx, chat.ErrStaleRun, `
			SELECT server_id = $4 AND NOT ($5 AND waiting_server_id = $3)
			FROM generations
			WHERE message_id = $1 AND CASE WHEN ended_at IS NULL THEN run = $2 AND (server_id = $3 OR server_id = $4) END
			FOR UPDATE`, run.MessageID, run.Run, serverID, noServer, force)
		if err != nil || wait.Waits {
			return wait, err
		}
		if err := exec(ctx, tx, `
			UPDATE generations
			SET server_id = $2, waiting_server_id = NULL, started_at = now()
			WHERE message_id = $1`, run.MessageID, serverID); err != nil {
			return wait, err
		}
		wait.Calls, err = findCalls(ctx, tx, run.MessageID)
		return wait, err
	})
}

func (db *DB) LeaveWaits(ctx context.Context, serverID uuid.UUID) error {
	return exec(ctx, db.pool, `
		UPDATE generations SET waiting_server_id = $2 WHERE waiting_server_id = $1`, serverID, deadServer)
}

func (db *DB) WaitingRuns(ctx context.Context, runs []chat.RunID) ([]chat.RunID, error) {
	ids, numbers := splitRuns(runs)
	return queryRows[chat.RunID](ctx, db.pool, `
		SELECT g.message_id, g.run
		FROM generations g
		JOIN unnest($1::uuid[], $2::int[]) AS r (message_id, run) ON r.message_id = g.message_id AND r.run = g.run
		WHERE g.ended_at IS NULL AND g.waiting_server_id IS NOT NULL`, ids, numbers)
}

func (db *DB) WaitingText(ctx context.Context, run chat.RunID) (chat.KnownText, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (chat.KnownText, error) {
		err := execRow(ctx, tx, chat.ErrStaleRun, `
			SELECT FROM generations
			WHERE message_id = $1 AND run = $2 AND ended_at IS NULL AND waiting_server_id IS NOT NULL`,
			run.MessageID, run.Run)
		if err != nil {
			return chat.KnownText{}, err
		}
		return loadRounds(ctx, tx, run.MessageID)
	})
}

func (db *DB) PermittedTools(ctx context.Context, owner identity.Owner, threadID uuid.UUID) ([]string, error) {
	return queryValues[string](ctx, db.pool, `
		SELECT tool FROM tool_permissions WHERE organization_id = $1 AND user_id = $2 AND thread_id = $3`,
		owner.OrganizationID, owner.UserID, threadID)
}

// endWaitSQL makes the answer $1, if it waits, that of the server that waits.
const endWaitSQL = `
	UPDATE generations
	SET server_id = waiting_server_id, waiting_server_id = NULL, started_at = now(), attempts = 1
	WHERE message_id = $1 AND ended_at IS NULL AND waiting_server_id IS NOT NULL`

// approvalColumns are the columns of a chat.ToolApproval of the approval a, with its thread t and its call c.
const approvalColumns = `a.id, a.cause, coalesce(a.decision, 'waiting') AS state, a.expires_at, a.reason,
	coalesce(a.decision = 'approved' AND a.decided_sha256 <> a.arguments_sha256, false) AS edited, a.user_id, a.thread_id,
	t.title AS thread_title, t.skill_id, a.message_id, a.call_id, a.tool, a.title, coalesce(c.call->>'arguments', '') AS arguments,
	coalesce(a.decided_sha256, a.arguments_sha256) AS arguments_sha256, a.created_at, a.decided_at,
	CASE WHEN a.cause = 'input' AND a.decision IS NULL THEN c.call->'input' END AS input`

// fromApprovals joins these tables. The rows of calls are deleted at the end of an answer.
const fromApprovals = `
	FROM tool_approvals a
	JOIN threads t ON t.organization_id = a.organization_id AND t.id = a.thread_id
	LEFT JOIN tool_calls c ON c.message_id = a.message_id AND c.call_id = a.call_id`

// approvalRow is a row of tool_approvals with its organization and its request.
type approvalRow struct {
	chat.ToolApproval
	OrganizationID uuid.UUID
	Version        string // Of the call.
	RequestID      *uuid.UUID
	RequestHash    []byte
	Ended          bool
	Late           bool
}

// lockApproval locks the generation of an approval, and returns the approval.
func lockApproval(ctx context.Context, tx pgx.Tx, id uuid.UUID) (approvalRow, error) {
	if err := exec(ctx, tx, `
		SELECT FROM generations WHERE message_id = (SELECT message_id FROM tool_approvals WHERE id = $1) FOR UPDATE`,
		id); err != nil {
		return approvalRow{}, err
	}
	return findRow[approvalRow](ctx, tx, chat.ErrNoToolCall, `
		SELECT `+approvalColumns+`, a.organization_id, coalesce(c.call->>'version', '') AS version, a.request_id, a.request_hash,
		       (SELECT g.ended_at IS NOT NULL FROM generations g WHERE g.message_id = a.message_id) AS ended,
		       a.expires_at <= now() AS late`+fromApprovals+`
		WHERE a.id = $1`, id)
}

// selectOwnApprovals selects the approvals that the person $2 of the organization $1 decides, in threads that they may
// read.
const selectOwnApprovals = `
	SELECT ` + approvalColumns + fromApprovals + `
	WHERE a.organization_id = $1 AND a.user_id = $2 AND ` + mayRead

func (db *DB) WaitingToolApproval(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.ToolApproval, error) {
	return findRow[chat.ToolApproval](ctx, db.pool, chat.ErrNoToolCall, selectOwnApprovals+`
		AND a.id = $3 AND a.decision IS NULL`, owner.OrganizationID, owner.UserID, id)
}

func (db *DB) DecideToolCall(
	ctx context.Context, owner identity.Owner, d chat.Decision, by org.AuditActor,
) (chat.ToolApproval, error) {
	return txResult(ctx, db, func(tx pgx.Tx) (chat.ToolApproval, error) {
		if err := execRow(ctx, tx, chat.ErrNoToolCall, `
			SELECT`+fromApprovals+`
			WHERE a.id = $3 AND a.organization_id = $1 AND `+mayRead,
			owner.OrganizationID, owner.UserID, d.ID); err != nil {
			return chat.ToolApproval{}, err
		}
		row, err := lockApproval(ctx, tx, d.ID)
		if err != nil {
			return chat.ToolApproval{}, err
		}
		if row.State != chat.ApprovalWaiting && row.UserID == owner.UserID && row.RequestID != nil &&
			*row.RequestID == d.RequestID { // A repeated request.
			if hash := d.Hash(); !bytes.Equal(row.RequestHash, hash[:]) {
				return chat.ToolApproval{}, chat.ErrRequestConflict
			}
			return row.ToolApproval, nil
		}
		if err := row.refusal(owner, d); err != nil {
			return chat.ToolApproval{}, err
		}
		state := chat.ApprovalDenied
		if d.Approved {
			state = chat.ApprovalApproved
		}
		if err := decide(ctx, tx, &row, state, d); err != nil {
			return chat.ToolApproval{}, err
		}
		remembered := d.Approved && d.Remember
		if remembered {
			if remembered, err = permitTool(ctx, tx, row); err != nil {
				return chat.ToolApproval{}, err
			}
		}
		return row.ToolApproval, audit(ctx, tx, decisionEvent(by, row, remembered))
	})
}

// permitTool stores the approval of a tool for the rest of the thread, and locks the tool's server. It reports false if
// the server is not the one that was asked about, with the same address and authentication. Built-in tools have no
// server.
func permitTool(ctx context.Context, tx pgx.Tx, row approvalRow) (bool, error) {
	if tool.IsServerName(row.Tool) {
		found, err := queryValues[uuid.UUID](ctx, tx, `
			SELECT s.id FROM tool_servers s WHERE s.organization_id = $1 AND starts_with($2, s.key || $3) FOR SHARE`,
			row.OrganizationID, row.Tool, tool.Separator)
		if err != nil || len(found) == 0 {
			return false, err
		}
		server, err := findToolServer(ctx, tx, row.OrganizationID, found[0])
		if err != nil || !strings.HasPrefix(row.Version, server.Settings()+" ") {
			return false, err
		}
	}
	return true, exec(ctx, tx, `
		INSERT INTO tool_permissions (organization_id, thread_id, user_id, tool) VALUES ($1, $2, $3, $4)
		ON CONFLICT DO NOTHING`, row.OrganizationID, row.ThreadID, row.UserID, row.Tool)
}

// refusal returns the error of a decision that is refused, or nil.
func (r approvalRow) refusal(owner identity.Owner, d chat.Decision) error {
	switch {
	case r.UserID != owner.UserID:
		return chat.ErrNotDecider
	case r.State == chat.ApprovalExpired, r.State == chat.ApprovalWaiting && r.Late:
		return chat.ErrApprovalExpired
	case r.State == chat.ApprovalCanceled, r.State == chat.ApprovalWaiting && r.Ended:
		return chat.ErrApprovalCanceled
	case r.State != chat.ApprovalWaiting:
		return chat.ErrDecided
	case !bytes.Equal(r.ArgumentsSHA256, d.ArgumentsSHA256):
		return chat.ErrArgumentsChanged
	}
	return nil
}

// decide stores a decision in the call and the approval, and ends the wait of the answer. The transaction holds the lock
// on the generation.
func decide(ctx context.Context, tx pgx.Tx, row *approvalRow, state chat.ApprovalState, d chat.Decision) error {
	call, err := findValue[chat.ToolCall](ctx, tx, chat.ErrApprovalCanceled, `
		SELECT call FROM tool_calls WHERE message_id = $1 AND call_id = $2 AND state = 'waiting'`,
		row.MessageID, row.CallID)
	if err != nil {
		return err
	}
	if err := call.Decide(state, d); err != nil {
		return err
	}
	call = storableCall(call)
	sum := sha256.Sum256([]byte(call.Arguments))
	row.Approval, row.Arguments, row.ArgumentsSHA256, row.Input = *call.Approval, call.Arguments, sum[:], nil
	var requestID, decidedBy *uuid.UUID
	var hash []byte
	if d.ID != uuid.Nil {
		of := d.Hash()
		requestID, decidedBy, hash = &d.RequestID, &row.UserID, of[:]
	}
	return send(ctx, tx, func(batch *pgx.Batch) {
		queueCall(batch, row.MessageID, call)
		batch.Queue(`
			UPDATE tool_approvals
			SET decision = $2, decided_at = now(), decided_by = $3, reason = $4, request_id = $5, request_hash = $6,
			    decided_sha256 = $7
			WHERE id = $1
			RETURNING decided_at`, row.ID, state, decidedBy, storable(d.Reason), requestID, hash, sum[:]).
			QueryRow(func(r pgx.Row) error { return r.Scan(&row.DecidedAt) })
		batch.Queue(endWaitSQL, row.MessageID)
	})
}

// decisionEvent returns the audit entry about a decision.
func decisionEvent(by org.AuditActor, row approvalRow, remember bool) org.Event {
	action := org.ActionToolApprove
	if row.State != chat.ApprovalApproved {
		action = org.ActionToolDeny
	}
	event := org.Event{
		OrganizationID: &row.OrganizationID, By: by, Action: action, TargetKind: org.TargetTool, TargetID: row.Tool,
		TargetLabel: row.Title,
		Details: []org.Change{
			{Field: "cause", After: string(row.Cause)},
			{Field: "arguments_sha256", After: hex.EncodeToString(row.ArgumentsSHA256)},
		},
	}
	if row.Edited {
		event.Details = append(event.Details, org.Change{Field: "edited", After: "true"})
	}
	if remember {
		event.Details = append(event.Details, org.Change{Field: "remember", After: "true"})
	}
	return event
}

// ExpireToolCalls implements chat.Store. Each approval has its own transaction: a broken one does not stop the others, also
// if there are more broken ones than the limit.
func (db *DB) ExpireToolCalls(ctx context.Context, limit int) ([]chat.ToolApproval, error) {
	var expired []chat.ToolApproval
	ids, err := queryValues[uuid.UUID](ctx, db.pool, `
		SELECT id FROM tool_approvals WHERE decision IS NULL AND expires_at <= now() ORDER BY expires_at`)
	failures := []error{err}
	for _, id := range ids {
		if len(expired) >= limit || ctx.Err() != nil {
			break
		}
		ended, err := db.expireToolCall(ctx, id)
		expired = append(expired, ended...)
		if err != nil && !errors.Is(err, chat.ErrNoToolCall) {
			failures = append(failures, fmt.Errorf("approval %s: %w", id, err))
		}
	}
	return expired, errors.Join(failures...)
}

// expireToolCall lets an approval expire, and returns it if it still waited.
func (db *DB) expireToolCall(ctx context.Context, id uuid.UUID) ([]chat.ToolApproval, error) {
	return txResult(ctx, db, func(tx pgx.Tx) ([]chat.ToolApproval, error) {
		row, err := lockApproval(ctx, tx, id)
		if err != nil || row.State != chat.ApprovalWaiting {
			return nil, err
		}
		err = decide(ctx, tx, &row, chat.ApprovalExpired, chat.Decision{})
		if errors.Is(err, chat.ErrApprovalCanceled) {
			return nil, exec(ctx, tx, cancelApprovalsSQL, row.MessageID)
		}
		return []chat.ToolApproval{row.ToolApproval}, err
	})
}

// cancelApprovalsSQL ends the approvals of an answer without a decision.
const cancelApprovalsSQL = `
	UPDATE tool_approvals SET decision = 'canceled', decided_at = now() WHERE message_id = $1 AND decision IS NULL`

func (db *DB) ListToolApprovals(
	ctx context.Context, owner identity.Owner, offset, limit int,
) ([]chat.ToolApproval, error) {
	return queryRows[chat.ToolApproval](ctx, db.pool, selectOwnApprovals+`
		AND a.decision IS NULL AND a.expires_at > now()
		ORDER BY a.created_at, a.id
		OFFSET $3 LIMIT $4`, owner.OrganizationID, owner.UserID, offset, limit)
}

func (db *DB) ListAnswerApprovals(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID,
) ([]chat.ToolApproval, error) {
	return queryRows[chat.ToolApproval](ctx, db.pool, selectOwnApprovals+`
		AND a.message_id = $3
		ORDER BY a.created_at, a.id`, owner.OrganizationID, owner.UserID, messageID)
}
