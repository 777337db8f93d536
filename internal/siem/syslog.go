package siem

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/proxy"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// SyslogConfig configures a syslog sink.
type SyslogConfig struct {
	URL    string // tls://host:port, or tcp:// on this machine. The default port is 6514.
	Origin Origin
	Proxy  proxy.Func // Default: proxy.FromEnvironment.

	Certificate *ClientCertificate // Nil for none.
	RootCAs     *x509.CertPool     // Trusted certificates. Default: those of the process.

	// Events of a connection are sent again after it was broken if they were sent within ResendTime, or are among the
	// last ResendEvents. Default 60 s and 1,000.
	ResendTime   time.Duration
	ResendEvents int
}

const (
	syslogPort     = "6514"           // RFC 5425, section 4.1.
	connectTimeout = 10 * time.Second // For connecting and TLS.
	writeTimeout   = 30 * time.Second // For a batch.
	// A small buffer limits the number of events that are lost unnoticed with a receiver that stops to read.
	writeBuffer = 64 << 10

	// Receivers should accept messages of 8192 bytes (RFC 5425, section 4.3.1), and many accept no longer ones.
	maxMessage = 8192
	// maxName is the maximum length of a value in the structured data, in characters.
	maxName = 200
)

// Syslog is a receiver of syslog messages (RFC 5424) over TLS (RFC 5425), which acknowledges nothing. Therefore Send
// confirms events only when others were sent after them without a broken connection.
type Syslog struct {
	cfg           SyslogConfig
	address, host string
	encrypted     bool

	conn   net.Conn   // Nil without a connection.
	broken chan error // Receives one error when the peer closes conn.
	sent   []mark     // Of conn, oldest first.
}

// mark is the end of a batch that was sent.
type mark struct {
	position int64
	count    int
	at       time.Time
}

// NewSyslog returns a syslog sink, or an error that describes an invalid setting.
func NewSyslog(cfg SyslogConfig) (*Syslog, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("URL must have the form tls://host:6514")
	}
	cfg.ResendTime, cfg.ResendEvents = cmp.Or(cfg.ResendTime, time.Minute), cmp.Or(cfg.ResendEvents, 1000)
	if cfg.Proxy == nil {
		cfg.Proxy = proxy.FromEnvironment()
	}
	s := &Syslog{
		cfg: cfg, host: u.Hostname(), address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), syslogPort)),
		encrypted: u.Scheme == "tls",
	}
	switch ip := net.ParseIP(s.host); {
	case s.encrypted:
	case u.Scheme != "tcp":
		return nil, errors.New("URL must begin with tls://")
	case s.host != "localhost" && !ip.IsLoopback():
		return nil, errors.New("URL must begin with tls://, because the audit log must not be sent unencrypted; " +
			"tcp:// is for a receiver on this machine")
	}
	return s, nil
}

func (s *Syslog) Name() string { return "syslog" }

// Refused implements Sink. A receiver refuses nothing.
func (s *Syslog) Refused() int64 { return 0 }

func (s *Syslog) Check(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (s *Syslog) Close() {
	if s.conn != nil {
		_ = s.conn.Close()
		<-s.broken //nolint:errcheck // The connection is closed, whatever the error.
		s.conn, s.sent = nil, nil
	}
}

func (s *Syslog) Send(ctx context.Context, events []Event) (confirmed int64, err error) {
	if s.conn == nil {
		if s.conn, err = s.connect(ctx); err != nil {
			return 0, err
		}
		s.broken = make(chan error, 1)
		go watch(s.conn, s.broken)
	}
	select {
	case err := <-s.broken:
		s.broken <- err // For Close.
		return 0, fmt.Errorf("the connection was broken: %w", err)
	default:
	}
	if len(events) > 0 {
		if err := s.write(ctx, events); err != nil {
			return 0, err
		}
	}
	return s.confirmed(time.Now()), nil
}

// watch waits for the end of a connection. Receivers send nothing.
func watch(conn net.Conn, broken chan<- error) {
	_, err := io.Copy(io.Discard, conn)
	broken <- cmp.Or(err, io.EOF)
}

// write writes a batch.
func (s *Syslog) write(ctx context.Context, events []Event) error {
	var frames bytes.Buffer
	for _, e := range events {
		message := s.cfg.Origin.message(e)
		fmt.Fprintf(&frames, "%d %s", len(message), message)
	}
	conn := s.conn
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	err := conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = conn.Write(frames.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	s.sent = append(s.sent, mark{events[len(events)-1].Position, len(events), time.Now()})
	return nil
}

// confirmed returns the last position that was sent before ResendTime and is followed by ResendEvents events, or 0.
func (s *Syslog) confirmed(now time.Time) int64 {
	after := 0
	for i := len(s.sent) - 1; i >= 0; i-- {
		if m := s.sent[i]; after >= s.cfg.ResendEvents && now.Sub(m.at) >= s.cfg.ResendTime {
			s.sent = s.sent[i:]
			return m.position
		}
		after += s.sent[i].count
	}
	return 0
}

// connect returns a connection to the receiver, directly or through a proxy. The proxy is that for https, whose
// connections are tunnels as well.
func (s *Syslog) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	via, err := s.cfg.Proxy(&url.URL{Scheme: "https", Host: s.address})
	if err != nil {
		return nil, err
	}
	var conn net.Conn
	if via == nil {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", s.address)
	} else {
		conn, err = proxy.Dial(ctx, via, s.address)
	}
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(writeBuffer) // The default works too.
	}
	if !s.encrypted {
		return conn, nil
	}
	requested := false
	cfg := clientTLS(s.cfg.RootCAs, s.cfg.Certificate, func() { requested = true })
	cfg.ServerName = s.host
	encrypted := tls.Client(conn, cfg)
	err = encrypted.HandshakeContext(ctx)
	if err == nil && requested {
		err = checkAccepted(encrypted)
	}
	if err != nil {
		_ = conn.Close()
		return nil, withAdvice(err, requested)
	}
	return encrypted, nil
}

// Facility and severities of messages (RFC 5424, section 6.2.1).
const logAudit = 13

var syslogSeverities = map[int]int{1: 6, 2: 5, 3: 4} // By severities of OCSF: informational, notice, warning.

// enterprise is the number for examples (RFC 5612), because the names of structured data need one.
const enterprise = "tsumugi@32473"

// message returns a syslog message. Its text is the event in OCSF's form. A message of more than maxMessage bytes is
// shortened.
func (o Origin) message(e Event) []byte {
	head, text := o.head(e), encode(o.event(e))
	for limit := 1000; len(head)+len(text) > maxMessage; limit /= 4 {
		short := o.event(e.shortened(limit))
		short["unmapped"].(object)["shortened"] = true
		text = encode(short)
		if limit == 0 {
			break
		}
	}
	return append([]byte(head), text...)
}

// shortened returns the event with at most n details, whose values have at most n characters.
func (e Event) shortened(n int) Event {
	details := e.Details[:min(len(e.Details), n)]
	e.Details = make([]org.Change, len(details))
	for i, c := range details {
		e.Details[i] = org.Change{
			Field: c.Field, Before: runes.Truncate(c.Before, n), After: runes.Truncate(c.After, n),
		}
	}
	e.TargetLabel, e.By.Name = runes.Truncate(e.TargetLabel, maxName), runes.Truncate(e.By.Name, maxName)
	return e
}

// head returns the message without its text. The text begins with a byte order mark, because it is UTF-8.
func (o Origin) head(e Event) string {
	id, _ := severity(e.Action)
	address := ""
	if e.By.Address.IsValid() {
		address = e.By.Address.String()
	}
	var data strings.Builder
	for _, parameter := range [][2]string{
		{"id", e.uid()},
		{"organization", e.organizationID()},
		{"organizationName", e.OrganizationName},
		{"actor", cmp.Or(e.By.Email, e.By.Name, string(e.By.Kind))},
		{"action", string(e.Action)},
		{"target", e.TargetLabel},
		{"targetId", e.TargetID},
		{"address", address},
	} {
		if parameter[1] != "" {
			fmt.Fprintf(&data, ` %s="%s"`, parameter[0], escaper.Replace(runes.OneLine(parameter[1], maxName)))
		}
	}
	return fmt.Sprintf("<%d>1 %s %s tsumugi - %s [%s%s] \uFEFF", logAudit*8+syslogSeverities[id],
		e.At.UTC().Format("2006-01-02T15:04:05.000000Z07:00"), printable(o.Host, 255), printable(string(e.Action), 32),
		enterprise, data.String())
}

// escaper escapes the value of a parameter (RFC 5424, section 6.3.3).
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `]`, `\]`)

// printable returns a field of the header: visible ASCII of at most n bytes, or the nil value.
func printable(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7F {
			return r
		}
		return -1
	}, text)
	return cmp.Or(text[:min(len(text), n)], "-")
}

// encode returns an object as JSON on one line.
func encode(o object) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(o); err != nil {
		panic("siem: " + strconv.Quote(err.Error())) // Objects contain only strings, numbers and objects.
	}
	return bytes.TrimRight(text.Bytes(), "\n")
}
