package storetest

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
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// Traffic counts what clients send to a PostgreSQL server.
type Traffic struct {
	DSN string // Clients with this connection string are counted.

	statements, roundTrips atomic.Int64
}

// Statements returns the number of statements that were executed.
func (p *Traffic) Statements() int64 { return p.statements.Load() }

// RoundTrips returns how often clients waited for results.
func (p *Traffic) RoundTrips() int64 { return p.roundTrips.Load() }

// Count returns the Traffic of a database, until the test ends.
func Count(t *testing.T, dsn string) *Traffic {
	t.Helper()
	cfg := must.Get(pgx.ParseConfig(dsn))(t)
	network, address := addressOf(cfg)
	dir := t.TempDir()
	p := &Traffic{}
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
	p.DSN = fmt.Sprintf("host=%s port=5432 user=%s password='%s' dbname=%s pool_max_conns=4", dir, cfg.User, cfg.Password,
		cfg.Database)
	return p
}

func addressOf(cfg *pgx.ConnConfig) (network, address string) {
	if filepath.IsAbs(cfg.Host) {
		return "unix", filepath.Join(cfg.Host, fmt.Sprintf(".s.PGSQL.%d", cfg.Port))
	}
	return "tcp", net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))
}

// relay passes the messages of one connection on. A message has a type, except the first one, and a length.
func (p *Traffic) relay(client, server net.Conn) {
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
