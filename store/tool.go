package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/stream"
)

func (db *DB) AddToolRound(ctx context.Context, serverID uuid.UUID, round chat.AddedRound) error {
	return db.changeRun(ctx, serverID, round.RunID, func(batch *pgx.Batch) {
		for i, call := range round.Calls {
			text, reasoning, sources := "", "", []uuid.UUID{}
			if i == 0 {
				text, reasoning, sources = round.Text, storable(round.Reasoning), orEmpty(round.Sources)
			}
			call = storableCall(call)
			sum := sha256.Sum256([]byte(call.Arguments))
			batch.Queue(`
				INSERT INTO tool_calls (message_id, round, ordinal, run, call_id, tool, arguments_sha256, state, call,
				    text, reasoning, sources)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
				ON CONFLICT (message_id, round, ordinal) DO NOTHING`, // A repeated attempt.
				round.MessageID, round.Index, i, round.Run, call.ID, call.Name, sum[:], call.State, call, text, reasoning, sources)
			queueApproval(batch, round.MessageID, call)
		}
	})
}

// changeRun sends statements about a running generation. It locks the generation, so that it is not taken over before
// they are committed. If the run does not belong to the server, the error is chat.ErrStaleRun.
func (db *DB) changeRun(ctx context.Context, serverID uuid.UUID, run chat.RunID, queue func(batch *pgx.Batch)) error {
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := execRow(ctx, tx, chat.ErrStaleRun, `
			SELECT FROM generations WHERE message_id = $1 AND `+isCurrentRun+` FOR SHARE`,
			run.MessageID, run.Run, serverID); err != nil {
			return err
		}
		return send(ctx, tx, queue)
	})
}

// storableCall returns a call as it can be stored: PostgreSQL's JSON refuses U+0000.
func storableCall(call chat.ToolCall) chat.ToolCall {
	call.ID, call.Name, call.Title = storable(call.ID), storable(call.Name), storable(call.Title)
	call.Arguments, call.Result, call.Error = storable(call.Arguments), storable(call.Result), storable(call.Error)
	call.Extra = storableExtra(call.Extra)
	return call
}

// storableExtra returns a value of a provider as it can be stored: with U+FFFD in place of invalid characters, or nil if
// it has U+0000 or a number out of range, which PostgreSQL's JSON refuses.
func storableExtra(extra json.RawMessage) json.RawMessage {
	var value any
	if json.Unmarshal(extra, &value) != nil {
		return nil
	}
	if utf8.Valid(extra) && !bytes.Contains(extra, []byte(`\u`)) {
		return extra
	}
	encoded, _ := json.Marshal(value) // Never fails: it was decoded from JSON.
	if bytes.Contains(encoded, []byte(`\u0000`)) {
		return nil
	}
	return encoded
}

func (db *DB) EndToolCall(ctx context.Context, serverID uuid.UUID, run chat.RunID, call chat.ToolCall) error {
	return db.changeRun(ctx, serverID, run, func(batch *pgx.Batch) { queueCall(batch, run.MessageID, storableCall(call)) })
}

// loadRounds reads the rounds of a running answer, and their text as a known one.
func loadRounds(ctx context.Context, tx pgx.Tx, messageID uuid.UUID) (chat.KnownText, error) {
	rows, err := queryRows[struct {
		Round, Run      int
		Call            chat.ToolCall
		Text, Reasoning string
		Sources         []uuid.UUID
		Continued       []stream.Cursor
	}](ctx, tx, `
		SELECT c.round, c.run, c.call, c.text, c.reasoning, c.sources,
		       CASE WHEN g.continued_run = c.run THEN g.continued END AS continued
		FROM tool_calls c JOIN generations g ON g.message_id = c.message_id
		WHERE c.message_id = $1
		ORDER BY c.round, c.ordinal`, messageID)
	if err != nil || len(rows) == 0 {
		return chat.KnownText{}, err
	}
	known := chat.KnownText{Run: rows[0].Run, Sources: orNil(rows[0].Sources), Continued: rows[0].Continued}
	for _, r := range rows {
		if r.Round == len(known.Rounds) {
			known.Rounds = append(known.Rounds, chat.ToolRound{Text: r.Text, Reasoning: r.Reasoning})
			known.Text += r.Text
		}
		last := &known.Rounds[len(known.Rounds)-1]
		last.Calls = append(last.Calls, r.Call)
	}
	return known, nil
}
