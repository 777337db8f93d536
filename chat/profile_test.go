package chat_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// protocol counts what clients send to a PostgreSQL server.
type protocol struct {
	statements atomic.Int64
	roundTrips atomic.Int64
}

// counted returns the connection string of a database whose clients are counted.
func (p *protocol) counted(t *testing.T, dsn string) string {
	t.Helper()
	cfg := must.Get(pgx.ParseConfig(dsn))(t)
	network, address := addressOf(cfg)
	dir := t.TempDir()
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, ".s.PGSQL.5432")))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(context.Background(), network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go p.relay(client, server)
		}
	}()
	return fmt.Sprintf("host=%s port=5432 user=%s password='%s' dbname=%s pool_max_conns=4", dir, cfg.User, cfg.Password,
		cfg.Database)
}

func addressOf(cfg *pgx.ConnConfig) (network, address string) {
	if filepath.IsAbs(cfg.Host) {
		return "unix", filepath.Join(cfg.Host, fmt.Sprintf(".s.PGSQL.%d", cfg.Port))
	}
	return "tcp", net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))
}

// relay passes the messages of one connection on. A message has a type, except the first one, and a length.
func (p *protocol) relay(client, server net.Conn) {
	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}()
	defer func() { _ = server.Close() }()
	header := make([]byte, 5)
	for first := true; ; first = false {
		kind := header[:1]
		if first {
			kind = nil
		}
		length := header[1:]
		for _, part := range [][]byte{kind, length} {
			if _, err := io.ReadFull(client, part); err != nil {
				return
			}
			if _, err := server.Write(part); err != nil {
				return
			}
		}
		if !first {
			switch header[0] {
			case 'Q': // A simple query.
				p.statements.Add(1)
				p.roundTrips.Add(1)
			case 'E': // Execute.
				p.statements.Add(1)
			case 'S': // Sync: the client waits for the results.
				p.roundTrips.Add(1)
			}
		}
		if _, err := io.CopyN(server, client, int64(binary.BigEndian.Uint32(length))-4); err != nil {
			return
		}
	}
}

// TestDatabaseWorkOfAnAnswer bounds what a question and its answer cost the database: statements, round trips, and bytes of
// the write-ahead log.
func TestDatabaseWorkOfAnAnswer(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	var work protocol
	db, err := store.Open(t.Context(), work.counted(t, dsn))
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
		statements, roundTrips, bytes = work.statements.Load(), work.roundTrips.Load(), wal()
		do()
		return work.statements.Load() - statements, work.roundTrips.Load() - roundTrips, wal() - bytes
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
