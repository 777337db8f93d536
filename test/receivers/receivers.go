// Package receivers runs receivers of the audit log for tests: rsyslog and syslog-ng from Debian, and the receiver of
// the OpenTelemetry collector. They accept TLS connections with a client certificate, and print the received events.
package receivers

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// Event is a received event.
type Event struct {
	ID     string
	Action string // Of OTLP logs, "".
	Target string // Of OTLP logs, "".
	// OCSF is the event in OCSF's form.
	OCSF struct {
		Metadata struct {
			UID       string
			EventCode string `json:"event_code"`
			TenantUID string `json:"tenant_uid"`
		}
		ClassUID int `json:"class_uid"`
		Group    struct{ Name string }
		Unmapped struct {
			OrganizationName string `json:"organization_name"`
		}
	}
}

// Receiver is a running receiver.
type Receiver struct {
	Address string
	Events  <-chan Event
}

// Files are PEM files of a certificate for 127.0.0.1, which is its own authority. Receivers require it of clients too.
type Files struct{ Certificate, Key string }

// Certify creates a certificate.
func Certify(t *testing.T) Files {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "receiver"}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	certificate := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	encoded := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	dir := t.TempDir()
	return Files{
		writePEM(t, filepath.Join(dir, "certificate.pem"), "CERTIFICATE", certificate),
		writePEM(t, filepath.Join(dir, "key.pem"), "PRIVATE KEY", encoded),
	}
}

func writePEM(t *testing.T, name, kind string, content []byte) string {
	t.Helper()
	write(t, name, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})))
	return name
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(name, []byte(text), 0o600))
}

// Collector runs the receiver of the OpenTelemetry collector. Its program is in a separate Go module.
func Collector(t *testing.T, files Files) *Receiver {
	t.Helper()
	program := filepath.Join(repository(t), ".cache/receivers/collector") // Not linked again while it is up to date.
	//nolint:gosec // The arguments are constants and folders of the test.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Dir, build.Env = filepath.Join(repository(t), "test/collector"), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the collector: %v: %s", err, out)
	}
	address := freeAddress(t)
	//nolint:gosec // The program was just built.
	cmd := exec.CommandContext(t.Context(), program, address, files.Certificate, files.Key)
	return run(t, address, func(line []byte) (e Event, err error) {
		var record struct {
			ID    string
			Event json.RawMessage
		}
		if err = json.Unmarshal(line, &record); err == nil {
			e.ID, err = record.ID, json.Unmarshal(record.Event, &e.OCSF)
		}
		return e, err
	}, cmd)
}

// Rsyslog runs rsyslog. It parses the structured data and removes the byte order mark.
func Rsyslog(t *testing.T, files Files) *Receiver {
	t.Helper()
	debian, dir, address := install(t, "rsyslog", "rsyslog-gnutls"), t.TempDir(), freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	write(t, filepath.Join(dir, "rsyslog.conf"), strings.NewReplacer(
		"{dir}", dir, "{certificate}", files.Certificate, "{key}", files.Key, "{host}", host, "{port}", port,
	).Replace(`
global(workDirectory="{dir}" maxMessageSize="16k" DefaultNetstreamDriverCAFile="{certificate}"
       DefaultNetstreamDriverCertFile="{certificate}" DefaultNetstreamDriverKeyFile="{key}")
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/certvalid")
module(load="mmpstrucdata")
input(type="imtcp" address="{host}" port="{port}")
template(name="line" type="string"
         string="{\"data\":%$!rfc5424-sd!tsumugi@32473%,\"action\":\"%msgid%\",\"text\":\"%msg:::json%\"}\n")
action(type="mmpstrucdata")
action(type="omfile" file="/dev/stdout" template="line")
`))
	modules := debian.glob(t, "usr/lib/*/rsyslog")
	return run(t, address, parseLine, debian.command(t, "usr/sbin/rsyslogd",
		"-n", "-f", filepath.Join(dir, "rsyslog.conf"), "-i", filepath.Join(dir, "pid"), "-M", modules))
}

// SyslogNG runs syslog-ng.
func SyslogNG(t *testing.T, files Files) *Receiver {
	t.Helper()
	debian, dir, address := install(t, "syslog-ng-core"), t.TempDir(), freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	write(t, filepath.Join(dir, "syslog-ng.conf"), "@version: 3.35\n"+strings.NewReplacer(
		"{certificate}", files.Certificate, "{key}", files.Key, "{host}", host, "{port}", port,
	).Replace(`
source tls {
  syslog(ip("{host}") port({port}) transport("tls")
    tls(cert-file("{certificate}") key-file("{key}") ca-file("{certificate}") peer-verify(required-trusted)));
};
destination out {
  file("/dev/stdout" template("$(format-json data.id=\"${.SDATA.tsumugi@32473.id}\"
    data.target=\"${.SDATA.tsumugi@32473.target}\" action=\"$MSGID\" text=\"$MSG\")\n"));
};
log { source(tls); destination(out); };
`))
	file := func(name string) string { return filepath.Join(dir, name) }
	return run(t, address, parseLine, debian.command(t, "usr/sbin/syslog-ng", "--foreground", "--no-caps",
		"--cfgfile="+file("syslog-ng.conf"), "--persist-file="+file("persist"), "--pidfile="+file("pid"),
		"--control="+file("control"), "--module-path="+debian.glob(t, "usr/lib/syslog-ng/[0-9]*")))
}

// parseLine parses a line that the configurations of rsyslog and syslog-ng print.
func parseLine(line []byte) (e Event, err error) {
	var parsed struct {
		Data         struct{ ID, Target string }
		Action, Text string
	}
	if err = json.Unmarshal(line, &parsed); err == nil {
		e.ID, e.Action, e.Target = parsed.Data.ID, parsed.Action, parsed.Data.Target
		err = json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(parsed.Text), "\uFEFF")), &e.OCSF)
	}
	return e, err
}

// run starts a program until the test ends, and returns when it accepts connections.
func run(t *testing.T, address string, parse func(line []byte) (Event, error), cmd *exec.Cmd) *Receiver {
	t.Helper()
	out := must.Get(cmd.StdoutPipe())(t)
	log := must.Get(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	defer func() { _ = log.Close() }()
	cmd.Stderr = log
	must.Succeed(t, cmd.Start())
	events, ended := make(chan Event, 10_000), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(events)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			e, err := parse(lines.Bytes())
			if err != nil {
				t.Errorf("%s printed %q: %v", filepath.Base(cmd.Path), lines.Text(), err)
				continue
			}
			events <- e
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() { <-ended }) // The test's context, and with it the program, ends before.
	for {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			return &Receiver{Address: address, Events: events}
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("%q ended: %s", cmd.Args, text)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
