package store_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestQuestionReadsOnlyItsBranch: a question in a thread reads the messages of its branch that are sent to the model,
// each by its id, whatever the number of other messages in the thread and in the database.
func TestQuestionReadsOnlyItsBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	limit := chat.HistoryLimit{Messages: 10, Bytes: 1 << 20}
	for range 30 {
		state := must.Get(f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), [32]byte{}, limit))(t)
		b := question(f.ann, thread.ID, newID())
		b.Question.ParentID = state.Leaf
		begun := must.Get(f.BeginGeneration(t.Context(), b))(t)
		must.Succeed(t, f.end(t, outcome(f.ann, begun, b.ServerID, "答え")))
	}
	tx := must.Get(f.sql.Begin(t.Context()))(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	must.Get(tx.Exec(t.Context(), `SET LOCAL plan_cache_mode = force_generic_plan`))(t)
	args := []any{f.a, f.ann.UserID, thread.ID, nil}
	for name, read := range map[string]float64{
		store.ThreadStateSQL: rowsFetched(t, tx, "messages", store.ThreadStateSQL, append(args, newID())...),
		store.HistorySQL: rowsFetched(t, tx, "messages", store.HistorySQL,
			append(args, limit.Messages, limit.Bytes, false)...),
	} {
		if read < 1 || read > float64(limit.Messages) {
			t.Errorf("%.0f rows of messages are read by %s", read, name)
		}
	}
}

// TestPlanOfAQuestionHasNoUnusedParts: the statements that begin an answer in a private thread without files have no parts
// for projects and files in their plans, because the database prepares all parts of a plan each time.
func TestPlanOfAQuestionHasNoUnusedParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	b := question(f.ann, thread.ID, newID())
	for _, statement := range []struct {
		sql   string
		args  []any
		nodes int
	}{
		{store.BeginSQL, []any{
			f.a, f.ann.UserID, thread.ID, b.RequestID, b.RequestHash[:], b.ServerID, b.Question.ID, b.Answer.ID, "質問",
			"", false, b.Answer.Status, "質問", 1, nil, nil,
			[]uuid.UUID{},
			"", "", nil, nil, nil,
		}, 24},
		{store.ThreadStateSQL, []any{f.a, f.ann.UserID, thread.ID, nil, newID()}, 10},
	} {
		var plan []byte
		must.Succeed(t,
			f.sql.QueryRow(t.Context(), `EXPLAIN (FORMAT JSON) `+statement.sql, statement.args...).Scan(&plan))
		var plans []struct{ Plan planNode }
		must.Succeed(t, json.Unmarshal(plan, &plans))
		nodes := 0
		plans[0].Plan.each(func(n planNode) {
			nodes++
			if slices.Contains([]string{"project_grants", "project_sources"}, n.Relation) {
				t.Errorf("a plan reads %s", n.Relation)
			}
		})
		if t.Logf("%d nodes", nodes); nodes > statement.nodes {
			t.Errorf("%d nodes in the plan of %s", nodes, statement.sql)
		}
	}
}

// TestTablesOfAnAnswerHaveFewChecks: the database parses each check constraint of these tables at least twice for each answer.
func TestTablesOfAnAnswerHaveFewChecks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if n := value[int](t, f, `
		SELECT count(*) FROM pg_constraint
		WHERE contype = 'c' AND conrelid IN ('messages'::regclass, 'generations'::regclass, 'threads'::regclass)`); n > 5 {
		t.Errorf("messages, generations and threads have %d check constraints", n)
	}
}

// TestNewThreadReadsNoOtherThreads: adding a thread reads the same number of rows however many threads the person has.
func TestNewThreadReadsNoOtherThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `
		INSERT INTO threads (id, organization_id, user_id, skill_id)
		SELECT gen_random_uuid(), $1, $2, $3 FROM generate_series(1, 500)`, f.a, f.ann.UserID, f.skills[0].ID)
	thread := f.thread(t, f.ann)
	tx := must.Get(f.sql.Begin(t.Context()))(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	if read := rowsRead(t, tx, "threads", store.AddedThreadSQL, f.a, f.ann.UserID, thread.ID, newID()); read != 1 {
		t.Errorf("%.0f rows of threads are read", read)
	}
}

// TestFilterOfSCIMReadsItsUsers: a part of the users of an organization is read without the users before it, and the
// candidates of a filter without other users.
func TestFilterOfSCIMReadsItsUsers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(t, `
		INSERT INTO users (id, organization_id, subject, email, name, role)
		SELECT gen_random_uuid(), $1, 's' || n, 'u' || n || '@example.com', 'u' || n, 'general-user'
		FROM generate_series(1, 3000) n`, f.a)
	f.exec(t, `
		INSERT INTO scim_users (organization_id, user_id, user_name, external_id, emails, attributes)
		SELECT organization_id, id, email, 'E' || subject, ARRAY[email], '{}' FROM users WHERE organization_id = $1`, f.a)
	f.exec(t, `ANALYZE users, scim_users`)
	tx := must.Get(f.sql.Begin(t.Context()))(t)
	defer func() { _ = tx.Rollback(t.Context()) }()
	must.Get(tx.Exec(t.Context(), `SET LOCAL plan_cache_mode = force_generic_plan`))(t)
	for name, c := range map[string]struct {
		sql  string
		args []any
		most float64
	}{
		"part": {
			store.SCIMUsersAfterSQL, []any{f.a, "80000000-0000-0000-0000-000000000000", 200}, 210,
		},
		"candidates": {
			store.SCIMUsersMatchingSQL, []any{
				f.a, uuid.Nil, 200,
				[]uuid.UUID{f.ann.UserID},
				[]string{"u7@example.com", "u8@example.com"},
				[]string{"Es9"},
				[]string{"u10@example.com"},
			}, 20,
		},
	} {
		for _, table := range []string{"users", "scim_users"} {
			if read := rowsRead(t, tx, table, c.sql, c.args...); read < 1 || read > c.most {
				t.Errorf("%s: %.0f rows of %s are read", name, read, table)
			}
		}
	}
}

// rowsRead returns the number of rows of a table that a statement reads.
func rowsRead(t *testing.T, tx pgx.Tx, table, sql string, args ...any) (rows float64) {
	t.Helper()
	var plan []byte
	must.Succeed(t, tx.QueryRow(t.Context(), `EXPLAIN (ANALYZE, FORMAT JSON) `+sql, args...).Scan(&plan))
	var plans []struct{ Plan planNode }
	must.Succeed(t, json.Unmarshal(plan, &plans))
	plans[0].Plan.each(func(n planNode) {
		if n.Relation == table {
			rows += n.Loops * (n.Rows + n.Removed)
		}
	})
	return rows
}

// rowsFetched is rowsRead for statements that call functions.
func rowsFetched(t *testing.T, tx pgx.Tx, table, sql string, args ...any) float64 {
	t.Helper()
	read := func() (n float64) {
		must.Succeed(t, tx.QueryRow(t.Context(), `
			SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)
			FROM pg_stat_xact_user_tables WHERE relname = $1`, table).Scan(&n))
		return n
	}
	before := read()
	must.Get(tx.Exec(t.Context(), sql, args...))(t)
	return read() - before
}
