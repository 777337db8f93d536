package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"io"
	"math/big"
	"net"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// smtpServer is an SMTP server that records received mails.
type smtpServer struct {
	address string
	roots   *x509.CertPool // Trusts the server's certificate.
	took    chan received  // Buffered, so that the server never blocks.
	silent  chan struct{}  // Receives a value when the server stalls. Buffered.

	config   serverConfig
	security *tls.Config
}

type serverConfig struct {
	startTLS    bool
	implicitTLS bool
	credentials string            // user NUL password; "" for no authentication.
	refused     map[string]string // Error replies to RCPT, by address.
	silentAt    string            // The command after which it stalls, or "greeting".
	rude        bool              // The server closes the connection after accepting the mail.
	timeout     time.Duration     // Of its clients; 0 for a long one.
}

// received is a received mail.
type received struct {
	from, to  string
	data      string
	encrypted bool
	signedIn  bool
}

// serve runs a server until the test ends.
func serve(t *testing.T, config serverConfig) *smtpServer {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := &smtpServer{
		address: listener.Addr().String(), took: make(chan received, 100),
		silent: make(chan struct{}, 100), config: config,
	}
	certificate := s.certificate(t)
	s.security = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if config.implicitTLS {
		listener = tls.NewListener(listener, s.security)
	}
	var sessions sync.WaitGroup
	var mu sync.Mutex // Guards open.
	open := make(map[net.Conn]bool)
	sessions.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			sessions.Go(func() { s.session(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		sessions.Wait()
	})
	return s
}

// certificate creates a certificate for this machine, and adds it to roots.
func (s *smtpServer) certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"mail.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	parsed := must.Get(x509.ParseCertificate(der))(t)
	s.roots = x509.NewCertPool()
	s.roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// session serves one client (RFC 5321).
func (s *smtpServer) session(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	mail := received{encrypted: s.config.implicitTLS}
	text := textproto.NewConn(conn)
	if s.config.silentAt == "greeting" {
		s.wait(conn)
		return
	}
	_ = text.PrintfLine("220 mail.test ESMTP")
	for {
		line, err := text.ReadLine()
		if err != nil {
			return
		}
		command, rest, _ := strings.Cut(line, " ")
		command = strings.ToUpper(command)
		if s.config.silentAt == command {
			s.wait(conn)
			return
		}
		switch command {
		case "EHLO":
			_ = text.PrintfLine("250-mail.test")
			if s.config.startTLS && !mail.encrypted {
				_ = text.PrintfLine("250-STARTTLS")
			}
			_ = text.PrintfLine("250 AUTH LOGIN PLAIN")
		case "STARTTLS":
			_ = text.PrintfLine("220 go on")
			encrypted := tls.Server(conn, s.security)
			conn, mail.encrypted = encrypted, true
			text = textproto.NewConn(encrypted)
		case "AUTH":
			encoded, _ := strings.CutPrefix(rest, "PLAIN ")
			decoded, _ := base64.StdEncoding.DecodeString(encoded)
			if mail.signedIn = string(decoded) == "\x00"+s.config.credentials; !mail.signedIn {
				_ = text.PrintfLine("535 5.7.8 no")
				continue
			}
			_ = text.PrintfLine("235 2.7.0 yes")
		case "MAIL":
			mail.from = address(rest)
			_ = text.PrintfLine("250 2.1.0 yes")
		case "RCPT":
			mail.to += address(rest)
			if answer := s.config.refused[address(rest)]; answer != "" {
				_ = text.PrintfLine("%s", answer)
				continue
			}
			_ = text.PrintfLine("250 2.1.5 yes")
		case "DATA":
			_ = text.PrintfLine("354 go on")
			data, err := io.ReadAll(bufio.NewReader(text.DotReader()))
			if err != nil {
				return
			}
			mail.data = string(data)
			s.took <- mail
			_ = text.PrintfLine("250 2.0.0 yes")
			if s.config.rude {
				return
			}
		case "QUIT":
			_ = text.PrintfLine("221 2.0.0 bye")
			return
		default:
			_ = text.PrintfLine("500 5.5.1 what")
		}
	}
}

// wait sends no reply and waits until the client disconnects.
func (s *smtpServer) wait(conn net.Conn) {
	s.silent <- struct{}{}
	_, _ = io.Copy(io.Discard, conn)
}

// address returns the text in angle brackets.
func address(s string) string {
	_, rest, _ := strings.Cut(s, "<")
	found, _, _ := strings.Cut(rest, ">")
	return found
}
