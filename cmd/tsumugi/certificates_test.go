package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/proxy/proxytest"
	"github.com/tsumugi-ai/tsumugi/internal/websearch/websearchtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// readPage is the value of child that makes the test binary print the text of the page at securePage.
const readPage = "page"

// securePage is a page with a certificate of httptest's authority.
const securePage = "https://pages.example.com/pages/minimum-wage"

// printPage reads securePage with the settings of the environment.
func printPage() error {
	if err := trust(os.Getenv("TSUMUGI_CA_FILE")); err != nil {
		return err
	}
	settings := &searching{SearchURL: "http://search.invalid", ProxyResolves: os.Getenv("TSUMUGI_PROXY_RESOLVES") != ""}
	service, err := settings.openSearch(extracttest.InProcess{}.Extract)
	if err != nil {
		return err
	}
	defer service.Close()
	page, err := service.Read(context.Background(), securePage)
	if err != nil {
		return err
	}
	_, err = fmt.Println(page.Passages)
	return err
}

// TestAdditionalAuthorities runs the program in child processes, because the authorities are those of a process.
func TestAdditionalAuthorities(t *testing.T) {
	t.Parallel()
	secure := func(handler http.Handler) *httptest.Server {
		s := httptest.NewTLSServer(handler)
		t.Cleanup(s.Close)
		return s
	}
	model, search := secure(llmtest.NewHandler(0)), secure(websearchtest.New("https://pages.example.com"))
	p := proxytest.New(t, map[string]string{"pages.example.com:443": search.Listener.Addr().String()})
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: model.Certificate().Raw})
	must.Succeed(t, os.WriteFile(caFile, authority, 0o600))
	environ := []string{
		"TSUMUGI_DATA=" + t.TempDir(), "OPENAI_BASE_URL=" + model.URL + "/v1", "TSUMUGI_SEARCH_URL=" + search.URL,
		"https_proxy=http://" + p.Host, "no_proxy=", "TSUMUGI_PROXY_RESOLVES=true",
	}
	for _, trusted := range []bool{true, false} {
		environ, state := environ, doctor.Failure
		if trusted {
			environ, state = append(environ, "TSUMUGI_CA_FILE="+caFile), doctor.OK
		}
		out, log := runChild(t, "1", environ)
		var d diagnosis
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatalf("%v: %s%s", err, out, log)
		}
		for _, r := range append(d.of("model"), d.of("web-search")...) {
			if r.State != state {
				t.Errorf("with the file: %v: %+v", trusted, r)
			}
		}
		if len(d.of("model")) == 0 || len(d.of("web-search")) == 0 {
			t.Errorf("checked %+v", d.Checks)
		}
		page, log := runChild(t, readPage, environ)
		if strings.Contains(page, "1,142円") != trusted || strings.Contains(log, "unknown authority") == trusted {
			t.Errorf("with the file: %v: the page is %q%s", trusted, page, log)
		}
	}
}

// runChild runs tsumugi doctor in a child process, or printPage if mode is readPage.
func runChild(t *testing.T, mode string, environ []string) (stdout, stderr string) {
	t.Helper()
	//nolint:gosec // Itself.
	cmd := exec.CommandContext(t.Context(), os.Args[0], "doctor", "--json", "--lang=en", doctorTimeout)
	var out, log bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(append(os.Environ(), environ...), child+"="+mode), &out, &log
	_ = cmd.Run() // Without a database, doctor exits with an error. The callers check the output.
	return out.String(), log.String()
}

// TestRefusingProxyIsLogged verifies that the log names a proxy that refuses tunnels, without its password and the page.
func TestRefusingProxyIsLogged(t *testing.T) {
	t.Parallel()
	p := proxytest.New(t, nil)
	_, log := runChild(t, readPage, []string{
		"https_proxy=" + p.URL("user", hidden).String(), "no_proxy=", "TSUMUGI_PROXY_RESOLVES=true",
	})
	warning, _, _ := strings.Cut(log, "\n")
	if !strings.Contains(warning, "WARN websearch: the proxy fetches no page") || !strings.Contains(warning, p.Host) ||
		!strings.Contains(warning, "403 Forbidden") || strings.Contains(warning, "example.com") ||
		strings.Contains(log, hidden) {
		t.Errorf("logged %s", log)
	}
}

func TestUnusableAuthoritiesAreRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"missing.pem", t.TempDir(), "certificates_test.go"} {
		for _, command := range []string{"serve", "doctor", "migrate", "backup", "restore"} {
			args := []string{command}
			if command == "backup" || command == "restore" {
				args = append(args, t.TempDir())
			}
			environ := []string{"TSUMUGI_CA_FILE=" + file, "DATABASE_URL=postgres://localhost/x"}
			err := run(t.Context(), args, environ, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), "TSUMUGI_CA_FILE") {
				t.Errorf("%s with %s: %v", command, file, err)
			}
		}
	}
}
