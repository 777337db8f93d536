package chat_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// backup holds the rows of a database by table, in the format of COPY.
type backup map[string]*bytes.Buffer

func takeBackup(t *testing.T, conn *pgx.Conn) backup {
	t.Helper()
	rows, _ := conn.Query(t.Context(),
		`SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`)
	tables := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	b := make(backup)
	for _, table := range tables {
		b[table] = &bytes.Buffer{}
		if _, err := conn.PgConn().CopyTo(t.Context(), b[table], "COPY "+table+" TO STDOUT"); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// restore restores a database to a backup.
func (b backup) restore(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	exec := func(sql string) {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(sql, err)
		}
	}
	exec("BEGIN")
	exec("SET LOCAL session_replication_role = replica") // Like pg_restore --disable-triggers.
	for table := range b {
		exec("TRUNCATE " + table + " CASCADE")
	}
	for table, rows := range b {
		if _, err := conn.PgConn().CopyFrom(t.Context(), bytes.NewReader(rows.Bytes()),
			"COPY "+table+" FROM STDIN"); err != nil {
			t.Fatal(table, err)
		}
	}
	exec("COMMIT")
}

// TestCursorsAfterARestoreAreInvalid restores a backup while clients have cursors of later runs: for the next run of an
// answer in the backup, and for the first run of an answer that is not in it.
func TestCursorsAfterARestoreAreInvalid(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	conn := must.Get(pgx.Connect(t.Context(), dsn))(t)
	defer conn.Close(t.Context())
	epoch := 100
	drawn := func(cfg chat.Config) chat.Config {
		number := epoch
		cfg.Epoch = func() int { return number }
		return cfg
	}
	model := llmtest.NewLive()
	f := newFixtureOn(t, db, nil)
	f.server.kill()
	f.server = f.start(model, db, drawn(mute()))
	known := f.send(f.question("前の質問"))
	model.Next(t).Emit("最初の回")
	if known.Answer.Run != epoch {
		t.Fatalf("the first run is %d", known.Answer.Run)
	}
	saved := takeBackup(t, conn)
	f.server.kill()

	epoch = 200 // In the lost state.
	elsewhere := f.newThread(chatSkill)
	later := f.question("後の質問")
	later.ThreadID = elsewhere.ID
	lost := f.start(model, db, drawn(chat.Config{Alone: true}))
	model.Next(t).Emit("失われる二回目の回")
	forgotten := f.sendTo(lost, later)
	model.Next(t).Emit("失われる回答")
	for _, exchange := range []chat.Exchange{known, forgotten} {
		if run := f.attach(lost, exchange.Answer.ID).Run(); run != epoch {
			t.Errorf("run %d of the future", run)
		}
	}
	cursor := stream.Cursor{Run: epoch, Offset: len("失われ")}.String()
	lost.kill()
	saved.restore(t, conn)

	epoch = 300
	next := f.start(llmtest.Say("復元後の回答"), db, drawn(chat.Config{Alone: true}))
	later.ThreadID = f.thread.ID // Its own thread is lost.
	f.waitAt(next, known)
	for _, exchange := range []chat.Exchange{known, f.sendTo(next, later)} {
		raw := f.follow(next, exchange.Answer.ID, cursor)
		if deltas(t, raw) != "復元後の回答" || !strings.Contains(raw, `{"type":"data-reset","data":{"run":300}`) {
			t.Errorf("got %s", raw)
		}
	}
}
