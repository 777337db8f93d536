package main

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/websearch/websearchtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
	"github.com/tsumugi-ai/tsumugi/test/network"
)

// TestThroughTinyproxy connects through a real proxy with a password. The names of the operator's settings are sent to
// it; of a page, only the checked address. The test runs itself in a network whose loopback device has a public address.
func TestThroughTinyproxy(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tinyproxy"); err != nil {
		t.Skip("needs tinyproxy")
	}
	if !network.Own(t) {
		return
	}
	hosts := "127.0.0.1 localhost model.example.com search.example.com mail.example.com\n93.184.215.14 pages.example.com\n"
	file := filepath.Join(t.TempDir(), "hosts")
	must.Succeed(t, os.WriteFile(file, []byte(hosts), 0o600))
	script := `ip address add 93.184.215.14/32 dev lo; mount --bind "$0" /etc/hosts`
	if out, err := exec.CommandContext(t.Context(), "sh", "-ec", script, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	model, pages := httptest.NewTLSServer(llmtest.NewHandler(0)), websearchtest.New("https://pages.example.com")
	t.Cleanup(model.Close)
	site := httptest.NewUnstartedServer(pages)
	must.Succeed(t, site.Listener.Close())
	var err error
	site.Listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "93.184.215.14:443")
	must.Succeed(t, err)
	site.StartTLS()
	t.Cleanup(site.Close)
	port := func(address string) string { return address[strings.LastIndex(address, ":"):] }
	modelPort, searchPort := port(model.URL), port(serveHTTP(t, pages))
	mailPort := port(serveSMTP(t, ""))
	authority := filepath.Join(t.TempDir(), "ca.pem")
	must.Succeed(t, os.WriteFile(authority,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: model.Certificate().Raw}), 0o600))
	via, log := startTinyproxy(t)
	environ := []string{
		"TSUMUGI_DATA=" + t.TempDir(), "TSUMUGI_CA_FILE=" + authority, "HTTPS_PROXY=" + via, "HTTP_PROXY=" + via, "NO_PROXY=",
		"OPENAI_BASE_URL=https://model.example.com" + modelPort + "/v1", "OPENAI_EMBEDDING_MODEL=" + llmtest.Embed,
		"TSUMUGI_SEARCH_URL=http://search.example.com" + searchPort,
		"SMTP_URL=smtp://mail.example.com" + mailPort + "?tls=none", "TSUMUGI_MAIL_FROM=no-reply@example.com",
	}
	out, stderr := runChild(t, "1", environ)
	var d diagnosis
	if err := json.Unmarshal([]byte(out), &d); err != nil || strings.Contains(out+stderr, hidden) {
		t.Fatalf("%v: %s%s", err, out, stderr)
	}
	for _, id := range []string{"model", "embedding", "web-search", "mail", "proxy"} {
		if r := d.of(id); len(r) != 1 || r[0].State != doctor.OK || r[0].Found == "not configured" {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if page, stderr := runChild(t, readPage, environ); !strings.Contains(page, "1,142円") {
		t.Errorf("the page is %q%s", page, stderr)
	}
	requests := log()
	for _, want := range []string{
		"CONNECT model.example.com" + modelPort, "CONNECT mail.example.com" + mailPort, "CONNECT 93.184.215.14:443",
		"GET http://search.example.com" + searchPort,
	} {
		if !strings.Contains(requests, want) {
			t.Errorf("the proxy has not received %s: %s", want, requests)
		}
	}
	if strings.Contains(requests, "pages.example.com:443") {
		t.Errorf("the proxy has received the name of the page: %s", requests)
	}
}

// startTinyproxy starts a proxy with a password and returns its URL and a function that ends it and returns its log.
func startTinyproxy(t *testing.T) (via string, log func() string) {
	t.Helper()
	const address = "127.0.0.1:3128" // The port is free, because the test has a separate network.
	config := filepath.Join(t.TempDir(), "tinyproxy.conf")
	must.Succeed(t, os.WriteFile(config,
		[]byte("Port 3128\nListen 127.0.0.1\nTimeout 60\nLogLevel Info\nBasicAuth user "+hidden+"\n"), 0o600))
	//nolint:gosec // The file of this test.
	cmd := exec.CommandContext(t.Context(), "tinyproxy", "-d", "-c", config)
	stdout, err := cmd.StdoutPipe()
	must.Succeed(t, err)
	must.Succeed(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	var text strings.Builder
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			t.Fatalf("tinyproxy ended: %v: %s", err, text.String())
		}
		if strings.Contains(line, "Accepting connections") {
			break
		}
	}
	return fmt.Sprintf("http://user:%s@%s", hidden, address), func() string {
		must.Succeed(t, cmd.Process.Signal(os.Interrupt))
		_, err := io.Copy(&text, lines)
		must.Succeed(t, err)
		return text.String()
	}
}
