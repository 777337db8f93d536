package siem_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/siem"
	"github.com/tsumugi-ai/tsumugi/internal/work"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// authority issues client certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	return key
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	encoded := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	certificate := must.Get(x509.ParseCertificate(encoded))(t)
	return authority{certificate, key}
}

// issue writes a client certificate that is valid until end, and its key.
func (a authority) issue(t *testing.T, to *siem.ClientCertificate, end time.Time) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "tsumugi"},
		NotBefore: end.Add(-2 * time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	certificate := must.Get(x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key))(t)
	encoded := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	for name, block := range map[string]*pem.Block{
		to.CertificateFile: {Type: "CERTIFICATE", Bytes: certificate}, to.KeyFile: {Type: "PRIVATE KEY", Bytes: encoded},
	} {
		must.Succeed(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
}

func clientFiles(t *testing.T) *siem.ClientCertificate {
	t.Helper()
	dir := t.TempDir()
	return &siem.ClientCertificate{
		CertificateFile: filepath.Join(dir, "client.pem"), KeyFile: filepath.Join(dir, "client.key"),
	}
}

// secured is a receiver of both transports that requires client certificates of an authority.
type secured struct {
	*collector
	*syslogServer

	roots *x509.CertPool
}

func newSecured(t *testing.T, clients authority, version uint16) *secured {
	t.Helper()
	s := &secured{collector: newCollector(t), roots: x509.NewCertPool()}
	accepted := x509.NewCertPool()
	accepted.AddCert(clients.certificate)
	secure := httptest.NewUnstartedServer(s.Config.Handler)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	secure.TLS = &tls.Config{
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: accepted, MinVersion: version, MaxVersion: version,
	}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	s.Server = secure
	s.syslogServer = newSyslogServer(t, tls.NewListener(listen(t), secure.TLS.Clone()))
	s.roots.AddCert(secure.Certificate())
	return s
}

// sinks returns a sink of each transport.
func (s *secured) sinks(t *testing.T, certificate *siem.ClientCertificate) []siem.Sink {
	t.Helper()
	otlp := must.Get(siem.NewOTLP(siem.OTLPConfig{URL: s.URL, RootCAs: s.roots, Certificate: certificate},
		slog.New(slog.DiscardHandler)))(t)
	return []siem.Sink{otlp, s.syslogServer.sink(t, siem.SyslogConfig{
		URL: "tls://" + s.Addr().String(), RootCAs: s.roots, Certificate: certificate,
	})}
}

// TestReceiversRequireClientCertificates: events wait while the client certificate is missing, unknown to the receiver or
// expired. They are delivered after the files contain a valid one, without a restart.
func TestReceiversRequireClientCertificates(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients := newAuthority(t)
			s := newSecured(t, clients, version)
			unknown, expired := clientFiles(t), clientFiles(t)
			newAuthority(t).issue(t, unknown, time.Now().Add(time.Hour))
			clients.issue(t, expired, time.Now().Add(-time.Minute))
			for certificate, reason := range map[*siem.ClientCertificate]string{
				nil: "TSUMUGI_AUDIT_CERT_FILE", unknown: "TSUMUGI_AUDIT_CERT_FILE", expired: "client certificate: expired on ",
				clientFiles(t): "no such file",
			} {
				for _, sink := range s.sinks(t, certificate) {
					if err := sink.Check(t.Context()); err == nil || !strings.Contains(err.Error(), reason) {
						t.Errorf("%s with %+v: %v", sink.Name(), certificate, err)
					}
				}
			}

			f, log := newFixture(t), &logs{}
			f.serve(f.DB, log.logger(), s.sinks(t, unknown)...)
			id := f.record(f.sql, "a", "")
			for strings.Count(log.String(), "sink=otlp") == 0 || strings.Count(log.String(), "sink=syslog") == 0 {
				work.Sleep(t.Context(), time.Millisecond)
			}
			backlogs, err := f.SinkBacklogs(t.Context())
			if err != nil || len(backlogs) != 2 || backlogs[0].Waiting != 1 || backlogs[1].Waiting != 1 {
				t.Errorf("a refused certificate: %+v, %v", backlogs, err)
			}
			clients.issue(t, unknown, time.Now().Add(time.Hour))
			if got := s.expect(t, 1); got[0] != id {
				t.Errorf("the collector received %v, want %s", got, id)
			}
			if got := s.ids(t, 1); got[0] != id {
				t.Errorf("the syslog server received %v, want %s", got, id)
			}
			f.awaitSent()
			if end, err := unknown.End(); err != nil || end.Before(time.Now()) {
				t.Errorf("valid until %s, %v", end, err)
			}
		})
	}
}

// TestClientCertificateNeedsItsKey reads the certificate with the key of another one.
func TestClientCertificateNeedsItsKey(t *testing.T) {
	t.Parallel()
	one, other := clientFiles(t), clientFiles(t)
	clients := newAuthority(t)
	clients.issue(t, one, time.Now().Add(time.Hour))
	clients.issue(t, other, time.Now().Add(time.Hour))
	one.KeyFile = other.KeyFile
	if _, err := one.Read(); err == nil || !strings.Contains(err.Error(), "private key does not match") {
		t.Errorf("got %v", err)
	}
}
