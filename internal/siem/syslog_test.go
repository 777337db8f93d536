package siem_test

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/proxy/proxytest"
	"github.com/tsumugi-ai/tsumugi/internal/siem"
	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// syslogServer is a receiver of syslog messages.
type syslogServer struct {
	net.Listener

	messages    chan string
	connections chan net.Conn
}

func newSyslogServer(t *testing.T, listener net.Listener) *syslogServer {
	t.Helper()
	s := &syslogServer{listener, make(chan string, 10_000), make(chan net.Conn, 100)}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections <- conn
			go s.read(conn)
		}
	}()
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Succeed(t, err)
	return listener
}

// read reads messages with octet counting (RFC 5425, section 4.3).
func (s *syslogServer) read(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		var length int
		if _, err := fmt.Fscanf(reader, "%d ", &length); err != nil {
			return
		}
		message := make([]byte, length)
		if _, err := io.ReadFull(reader, message); err != nil {
			return
		}
		s.messages <- string(message)
	}
}

// ids returns the ids of the next n messages.
func (s *syslogServer) ids(t *testing.T, n int) (ids []string) {
	t.Helper()
	for range n {
		_, rest, _ := strings.Cut(<-s.messages, `[tsumugi@32473 id="`)
		id, _, _ := strings.Cut(rest, `"`)
		ids = append(ids, id)
	}
	return ids
}

func (s *syslogServer) sink(t *testing.T, cfg siem.SyslogConfig) *siem.Syslog {
	t.Helper()
	cfg.Origin = siem.Origin{Host: "chat.example", Version: "v1"}
	cfg.URL = cmp.Or(cfg.URL, "tcp://"+s.Addr().String())
	sink, err := siem.NewSyslog(cfg)
	must.Succeed(t, err)
	return sink
}

// TestBrokenConnectionIsSentAgain breaks connections after single events were sent.
func TestBrokenConnectionIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cfg   siem.SyslogConfig
		again int // The number of events that are sent again.
	}{
		"the last events":   {siem.SyslogConfig{ResendEvents: 5, ResendTime: 1}, 5},
		"those of a minute": {siem.SyslogConfig{ResendEvents: 5}, 20},
		"the last thousand": {siem.SyslogConfig{ResendTime: 1}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := newFixture(t), newSyslogServer(t, listen(t))
			_, stop := f.serve(f.DB, slog.New(slog.DiscardHandler), s.sink(t, test.cfg))
			var sent []string
			for range 20 {
				sent = append(sent, f.record(f.sql, "a", ""))
				s.ids(t, 1)
			}
			// The cursor moves after the message was read.
			for cursor := int64(-1); cursor < int64(20-test.again); work.Sleep(t.Context(), time.Millisecond) {
				must.Succeed(t, f.sql.QueryRow(t.Context(), `SELECT position FROM audit_sinks`).Scan(&cursor))
			}
			want := sent[20-test.again:]
			_ = (<-s.connections).Close()
			if got := s.ids(t, test.again); !slices.Equal(got, want) {
				t.Errorf("after a broken connection %v, want %v", got, want)
			}
			stop()
			f.serve(f.DB, slog.New(slog.DiscardHandler), s.sink(t, test.cfg))
			want = append(slices.Clone(want), f.record(f.sql, "b", ""))
			if got := s.ids(t, len(want)); !slices.Equal(got, want) {
				t.Errorf("after a restart %v, want %v", got, want)
			}
			if backlogs, err := f.SinkBacklogs(t.Context()); err != nil || backlogs[0].Waiting > 1 {
				t.Errorf("%+v, %v", backlogs, err)
			}
		})
	}
}

// TestSyslogReceiverIsAway records events while nothing listens at the receiver's address. All of them arrive later.
func TestSyslogReceiverIsAway(t *testing.T) {
	t.Parallel()
	f, listener, log := newFixture(t), listen(t), &logs{}
	must.Succeed(t, listener.Close())
	sink, err := siem.NewSyslog(siem.SyslogConfig{URL: "tcp://" + listener.Addr().String()})
	must.Succeed(t, err)
	f.serve(f.DB, log.logger(), sink)
	want := f.recordMany(1500)
	for !strings.Contains(log.String(), "connection refused") {
		work.Sleep(t.Context(), time.Millisecond)
	}
	listener, err = net.Listen("tcp", listener.Addr().String())
	must.Succeed(t, err)
	if got := newSyslogServer(t, listener).ids(t, len(want)); !slices.Equal(got, want) {
		t.Error("the events arrived in another order")
	}
}

// TestSyslogMessages checks the escaping and the length of messages.
func TestSyslogMessages(t *testing.T) {
	t.Parallel()
	f, s := newFixture(t), newSyslogServer(t, listen(t))
	f.serve(f.DB, slog.New(slog.DiscardHandler), s.sink(t, siem.SyslogConfig{}))
	label := "a \"quote\", ] and \\ in\ntwo lines 🧵"
	for _, detail := range []string{"短い\n\"]\\", strings.Repeat("長い文章🧵", 64<<10/16), strings.Repeat(`"\`, 32<<10)} {
		id := f.record(f.sql, label, detail)
		message := <-s.messages
		head, text, _ := strings.Cut(message, "\uFEFF")
		header, data, _ := strings.Cut(head, " [")
		if fields := strings.Fields(header); len(fields) != 6 || fields[0] != "<110>1" || fields[2] != "chat.example" ||
			strings.Join(fields[3:], " ") != "tsumugi - organization.edit" {
			t.Errorf("the header is %q", header)
		} else if _, err := time.Parse(time.RFC3339Nano, fields[1]); err != nil || !strings.HasSuffix(fields[1], "Z") {
			t.Errorf("the time is %q", fields[1])
		}
		if want := `tsumugi@32473 id="` + id + `" actor="root" action="organization.edit" ` +
			`target="a \"quote\", \] and \\ in two lines 🧵" address="2001:db8::1"] `; data != want {
			t.Errorf("the structured data are %s, want %s", data, want)
		}
		var event struct {
			ClassUID int `json:"class_uid"`
			TypeUID  int `json:"type_uid"`
			Entity   struct{ Name, Type string }
			Metadata struct {
				UID, Version string
				EventCode    string `json:"event_code"`
			}
			SrcEndpoint struct{ IP string } `json:"src_endpoint"`
			Unmapped    struct {
				Shortened bool
				Details   []struct{ Field, After string }
			}
		}
		if err := json.Unmarshal([]byte(text), &event); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if event.ClassUID != 3004 || event.TypeUID != 300403 || event.Entity.Name != label ||
			event.Metadata.UID != id || event.Metadata.EventCode != "organization.edit" ||
			event.SrcEndpoint.IP != "2001:db8::1" || len(event.Unmapped.Details) != 1 {
			t.Errorf("%s", text)
		}
		after := event.Unmapped.Details[0].After
		if long := len(detail) > 1000; len(message) > 8192 || event.Unmapped.Shortened != long ||
			!strings.HasPrefix(detail, strings.TrimSuffix(after, "…")) || len(after) < min(len(detail), 200) {
			t.Errorf("a message of %d bytes for a detail of %d: %s", len(message), len(detail), text)
		}
	}
}

// TestUnknownAuthorityIsRefused connects by TLS with an unknown certificate, and through a proxy with a known one.
func TestUnknownAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	f, log := newFixture(t), &logs{}
	s := newSyslogServer(t, tls.NewListener(listen(t), certified.TLS.Clone()))
	known := x509.NewCertPool()
	known.AddCert(certified.Certificate())
	url := "tls://" + s.Addr().String()
	unknown := s.sink(t, siem.SyslogConfig{URL: url})
	for _, sink := range []siem.Sink{unknown, func() siem.Sink {
		sink, err := siem.NewOTLP(siem.OTLPConfig{URL: certified.URL}, nil)
		must.Succeed(t, err)
		return sink
	}()} {
		if err := sink.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "unknown authority") ||
			!strings.Contains(err.Error(), "TSUMUGI_CA_FILE") {
			t.Errorf("%s: %v", sink.Name(), err)
		}
	}
	_, stop := f.serve(f.DB, log.logger(), unknown)
	id := f.record(f.sql, "a", "")
	for !strings.Contains(log.String(), "unknown authority; add the authority to TSUMUGI_CA_FILE") {
		work.Sleep(t.Context(), time.Millisecond)
	}
	stop()
	p := proxytest.New(t, map[string]string{"example.com:6514": s.Addr().String()})
	sink := s.sink(t, siem.SyslogConfig{
		URL: "tls://example.com", RootCAs: known,
		Proxy: func(*neturl.URL) (*neturl.URL, error) { return p.URL("user", "password"), nil },
	})
	if err := sink.Check(t.Context()); err != nil {
		t.Error(err)
	}
	f.serve(f.DB, log.logger(), sink)
	if got := s.ids(t, 1); got[0] != id {
		t.Errorf("got %v, want %s", got, id)
	}
}

func TestSettingsOfSinks(t *testing.T) {
	t.Parallel()
	for url, valid := range map[string]bool{
		"tls://siem.example": true, "tls://siem.example:6515": true, "tcp://127.0.0.1:514": true, "tcp://[::1]:514": true,
		"tcp://localhost:514": true, "tcp://siem.example:514": false, "tcp://10.0.0.1:514": false, "siem.example:514": false,
		"tls://": false, "udp://127.0.0.1:514": false, "tls://user@siem.example": false, "tls://siem.example/path": false,
	} {
		if _, err := siem.NewSyslog(siem.SyslogConfig{URL: url}); (err == nil) != valid {
			t.Errorf("%s: %v", url, err)
		}
	}
	for url, headers := range map[string]string{
		"collector:4318": "", "ftp://collector": "", "https://": "", "https://collector": "no value",
		"https://collector:4318": "a=%zz",
	} {
		if _, err := siem.NewOTLP(siem.OTLPConfig{URL: url, Headers: headers}, nil); err == nil {
			t.Errorf("%s with headers %q is accepted", url, headers)
		}
	}
}
