package release_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/cluster"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestComposeBalancer runs Debian's Caddy with the settings of the Compose files in front of three servers. It checks
// that text arrives before the end of the answer, and that an answer continues after two servers are killed.
func TestComposeBalancer(t *testing.T) {
	t.Parallel()
	archives, programs := dist(t, "*-compose.tar.gz"), dist(t, "tsumugi-*-linux-"+runtime.GOARCH)
	if len(archives) != 1 || len(programs) != 1 {
		t.Fatalf("Compose files: %v; programs: %v", archives, programs)
	}
	model := httptest.NewServer(llmtest.NewHandler(20 * time.Millisecond))
	t.Cleanup(func() {
		model.CloseClientConnections()
		model.Close()
	})
	servers := must.Get(cluster.Start(t.Context(), cluster.Config{
		Program: programs[0], Servers: 3, Data: t.TempDir(),
		Environ: []string{
			"PATH=" + os.Getenv("PATH"), "OPENAI_BASE_URL=" + model.URL + "/v1", "TSUMUGI_DEMO_PASSWORD=" + password,
			"TSUMUGI_TRUSTED_PROXIES=127.0.0.1/32",
		},
	}))(t)
	t.Cleanup(func() {
		for i := range servers.Len() {
			servers.Kill(i) // A graceful stop would wait for the answer that the model does not end.
		}
		if err := servers.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	front := &server{address: startCaddy(t, archives[0], servers)}
	for path, want := range map[string]int{"/": 200, "/config.json": 200, "/metrics": 404, "/readyz": 404} {
		if got := status(t, front.address, path); got != want {
			t.Errorf("%s: status %d, want %d", path, got, want)
		}
	}

	client := front.client()
	text := 0
	for event, err := range ask(t, client, `@script {"stall_after": 50}`).Events(t.Context()) {
		if err != nil {
			t.Fatalf("after %d characters: %v", text, err)
		}
		if text += len([]rune(event.Text)); text >= 50 {
			break // The model sends no more.
		}
	}
	answer := ask(t, client, `@script {"chars": 600}`)
	killed := false
	for event, err := range answer.Events(t.Context()) {
		must.Succeed(t, err)
		if event.Text != "" && !killed {
			servers.Kill(0)
			servers.Kill(1)
			killed = true
		}
	}
	if !killed || answer.Gaps+answer.Repeats > 0 {
		t.Errorf("two servers died: %t; %d gaps, %d repeats", killed, answer.Gaps, answer.Repeats)
	}
	front.hasAnswer(t, tsumugi.Thread{ID: answer.ThreadID})
}

// ask asks a question in a new thread.
func ask(t *testing.T, client *tsumugi.Client, question string) *tsumugi.Answer {
	t.Helper()
	skill := must.Get(client.ChatSkill(t.Context()))(t)
	thread := must.Get(client.NewThread(t.Context(), skill.ID, ""))(t)
	return client.Ask(tsumugi.Question{ThreadID: thread.ID, Content: question})
}

// startCaddy runs Caddy in a Debian system with the Caddyfile of the archive, and returns its address.
func startCaddy(t *testing.T, archive string, servers *cluster.Cluster) string {
	t.Helper()
	d := newDebian(t)
	command(t, "tar", "--extract", "--file", archive, "--directory", d.path("etc"))
	address := freeAddress(t)
	var backends []string
	for i := range servers.Len() {
		backends = append(backends, strings.TrimPrefix(servers.Server(i).URL(), "http://"))
	}
	cmd := d.inside(t.Context(), "0:0", debianMounts, "/usr/bin/caddy", "run", "--config", "/etc/compose/Caddyfile")
	cmd.Env = append(cmd.Env, "HOME=/tmp", "TSUMUGI_PUBLIC_URL=http://"+address, "SERVERS="+strings.Join(backends, " "))
	background(t, cmd, func() bool { return status(t, address, "/healthz") == http.StatusOK })
	return address
}

// status returns the status of a response, or 0 without one.
func status(t *testing.T, address, path string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	must.Succeed(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
