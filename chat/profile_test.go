package chat_test

import (
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestDatabaseWorkOfAnAnswer bounds what a question and its answer cost the database: statements, round trips, and bytes of
// the write-ahead log.
func TestDatabaseWorkOfAnAnswer(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	work := storetest.Count(t, dsn)
	db, err := store.Open(t.Context(), work.DSN)
	must.Succeed(t, err)
	t.Cleanup(db.Close)
	f := newFixtureOn(t, db, nil)
	f.named()
	s := f.start(llmtest.Say(long), db, mute())
	conn := storetest.Pool(t, dsn)
	wal := func() (bytes int64) {
		t.Helper()
		must.Succeed(t, conn.QueryRow(t.Context(), `SELECT pg_current_wal_insert_lsn() - '0/0'`).Scan(&bytes))
		return bytes
	}
	measure := func(do func()) (statements, roundTrips, bytes int64) {
		t.Helper()
		statements, roundTrips, bytes = work.Statements(), work.RoundTrips(), wal()
		do()
		return work.Statements() - statements, work.RoundTrips() - roundTrips, wal() - bytes
	}
	least := func(do func()) (statements, roundTrips, bytes int64) {
		t.Helper()
		statements, roundTrips, bytes = measure(do)
		for range 9 { // The first ones prepare statements.
			x, y, z := measure(do)
			statements, roundTrips, bytes = min(statements, x), min(roundTrips, y), min(bytes, z)
		}
		return statements, roundTrips, bytes
	}
	// Two of the round trips are those of the reader who waits for the answer.
	statements, roundTrips, bytes := least(func() { f.waitAt(s, f.sendTo(s, f.question("質問"))) })
	if t.Logf("answer: %d statements, %d round trips, %d bytes", statements, roundTrips, bytes); statements > 11 ||
		roundTrips > 5 || bytes > 6<<10 {
		t.Errorf("an answer takes %d statements, %d round trips and %d bytes", statements, roundTrips, bytes)
	}
	// Ten questions with their answers are indexed in one transaction.
	statements, _, bytes = measure(func() { _, err = db.IndexPending(t.Context(), nil, 0, 100) })
	if t.Logf("index: %d statements, %d bytes", statements, bytes); err != nil || statements > 30 || bytes > 10*(4<<10) {
		t.Errorf("indexing takes %d statements and %d bytes, %v", statements, bytes, err)
	}
}
