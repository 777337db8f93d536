package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR18_StalledDatabaseDoesNotHoldUpTheEnd closes connections to a database that does not respond.
func TestR18_StalledDatabaseDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	dsn, stalled := stallable(t)
	opened := must.Get(store.Open(t.Context(), dsn))(t)
	stalled.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if opened.Ping(ctx) == nil {
		t.Fatal("the database is not stalled")
	}
	began := time.Now()
	db := &database{DB: opened}
	if err := db.close(time.Now().Add(time.Second)); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

// stallable returns the URL of a new database behind a proxy, which drops the database's output while stalled is set.
func stallable(t *testing.T) (dsn string, stalled *atomic.Bool) {
	t.Helper()
	cfg := must.Get(pgx.ParseConfig(storetest.DSN(t)))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	stalled = &atomic.Bool{}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(cfg.Host, fmt.Sprintf(".s.PGSQL.%d", cfg.Port)))
			if err != nil {
				_ = client.Close()
				continue
			}
			t.Cleanup(func() { _, _ = client.Close(), server.Close() })
			go func() { _, _ = io.Copy(server, client) }()
			go func() { _, _ = io.Copy(unlessSet{client, stalled}, server) }()
		}
	}()
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(cfg.User, cfg.Password), Host: listener.Addr().String(),
		Path: cfg.Database, RawQuery: "sslmode=disable",
	}
	return u.String(), stalled
}

// unlessSet drops writes while a flag is set.
type unlessSet struct {
	io.Writer
	flag *atomic.Bool
}

func (w unlessSet) Write(b []byte) (int, error) {
	if w.flag.Load() {
		return len(b), nil
	}
	return w.Writer.Write(b)
}
