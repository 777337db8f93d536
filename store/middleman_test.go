package store_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// middleman passes connections on to a database, and lets the one that listens for users fail in several ways.
type middleman struct {
	dsn      string // By way of it.
	network  string
	target   string
	listener net.Listener
	running  sync.WaitGroup

	deaf  atomic.Bool  // Notifications do not pass.
	cut   atomic.Bool  // Nor do new connections.
	stall sync.RWMutex // Held for writing while nothing passes, and nobody is told.

	answers chan struct{} // For each answer to who listens.

	mu    sync.Mutex
	all   []net.Conn // Guarded by mu. Both ends of each connection.
	watch []net.Conn // Guarded by mu. The near ends of those that listen.
}

func newMiddleman(t *testing.T, dsn string) *middleman {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	must(t, err)
	m := &middleman{answers: make(chan struct{}, 100)}
	m.network, m.target = "tcp", net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port))
	if cfg.Host[0] == '/' {
		m.network, m.target = "unix", fmt.Sprintf("%s/.s.PGSQL.%d", cfg.Host, cfg.Port)
	}
	m.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	host, port, err := net.SplitHostPort(m.listener.Addr().String())
	must(t, err)
	m.dsn = fmt.Sprintf("host=%s port=%s user=%s password='%s' dbname=%s sslmode=disable", host, port, cfg.User, cfg.Password, cfg.Database)
	m.running.Go(func() {
		for {
			near, err := m.listener.Accept()
			if err != nil {
				return
			}
			m.running.Go(func() { m.pass(near) })
		}
	})
	t.Cleanup(func() {
		_ = m.listener.Close()
		m.mu.Lock()
		for _, conn := range m.all {
			_ = conn.Close()
		}
		m.mu.Unlock()
		m.running.Wait()
	})
	return m
}

// breakOff ends the connection that listens, and refuses others like it until cut is false.
func (m *middleman) breakOff() {
	m.cut.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, conn := range m.watch {
		_ = conn.Close()
	}
}

func (m *middleman) pass(near net.Conn) {
	defer near.Close()
	startup := make([]byte, 4)
	if _, err := io.ReadFull(near, startup); err != nil {
		return
	}
	startup = append(startup, make([]byte, binary.BigEndian.Uint32(startup)-4)...)
	if _, err := io.ReadFull(near, startup[4:]); err != nil {
		return
	}
	far, err := net.Dial(m.network, m.target)
	if err != nil {
		return
	}
	defer far.Close()
	watches := bytes.Contains(startup, []byte("tsumugi_user")) // It says so by its name.
	m.mu.Lock()
	m.all = append(m.all, near, far)
	if watches {
		m.watch = append(m.watch, near)
	}
	m.mu.Unlock()
	if watches && m.cut.Load() {
		return
	}
	if _, err := far.Write(startup); err != nil {
		return
	}
	m.running.Go(func() {
		_, _ = io.Copy(far, near)
		_ = far.Close()
	})
	if !watches {
		_, _ = io.Copy(near, far)
		return
	}
	for m.message(near, far) == nil {
	}
}

// message passes one message of the database on.
func (m *middleman) message(near, far net.Conn) error {
	message := make([]byte, 5)
	if _, err := io.ReadFull(far, message); err != nil {
		return err
	}
	message = append(message, make([]byte, binary.BigEndian.Uint32(message[1:])-4)...)
	if _, err := io.ReadFull(far, message[5:]); err != nil {
		return err
	}
	m.stall.RLock()
	defer m.stall.RUnlock()
	if message[0] == 'A' && m.deaf.Load() { // NotificationResponse.
		return nil
	}
	_, err := near.Write(message)
	if message[0] == 'Z' { // ReadyForQuery.
		select {
		case m.answers <- struct{}{}:
		default:
		}
	}
	return err
}
