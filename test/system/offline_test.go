package system_test

import (
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
	"github.com/tsumugi-ai/tsumugi/test/network"
)

// TestNothingNeedsTheInternet starts a new installation in a network that has only a loopback device, with a model, and
// uses it. Nothing fails, and nothing looks for another machine.
func TestNothingNeedsTheInternet(t *testing.T) {
	t.Parallel()
	if !network.Own(t, "TSUMUGI_TEST_PROGRAM="+built.path(t)) {
		return
	}
	before := noRoutes(t)
	if _, err := http.Get("http://intranet.example/"); err == nil || noRoutes(t) == before { //nolint:bodyclose,noctx // Fails.
		t.Fatalf("connections to other machines are not counted: %v", err)
	}
	before = noRoutes(t)

	s := newSingleOn(t, folder(t), "OPENAI_EMBEDDING_MODEL="+llmtest.Embed)
	page := new(pdftest.Page)
	page.Latin(50, 50, 20, "Annual leave is ten days.")
	file := must.Get(s.upload(t.Context(), s.url(), "rules.pdf", pdftest.Draw([]*pdftest.Page{page})))(t)
	await(t, "the file is read", waitLimit, func() bool {
		list, err := s.sources(t.Context(), s.url())
		return err == nil && list[file.ID].Status == "success"
	})
	var skills struct {
		Items []struct {
			ID    string
			Form  string `json:"form_type"`
			Reads bool   `json:"accepts_data_sources"`
		}
	}
	must.Succeed(t, s.call(t.Context(), http.MethodGet, s.url()+"/v1/skill?limit=100", nil, &skills))
	for _, skill := range skills.Items {
		if skill.Reads && skill.Form == "chat" {
			s.skill = skill.ID
		}
	}
	var exchange struct {
		Answer struct {
			Status    string
			Citations []struct{ Quote string }
		}
	}
	must.Succeed(t, s.call(t.Context(), http.MethodPost, s.url()+"/v1/message/sync", map[string]any{
		"request_id": newID(), "thread_id": s.thread(t, s.url()), "data_source_ids": []string{file.ID},
		"content": `How long is annual leave? ` + llmtest.Marker + ` {"text":"Ten days [1]."}`,
	}, &exchange))
	if a := exchange.Answer; a.Status != "success" || len(a.Citations) != 1 || !strings.Contains(a.Citations[0].Quote, "ten") {
		t.Errorf("the answer is %+v", a)
	}
	must.Succeed(t, s.call(t.Context(), http.MethodGet, s.url()+"/v1/me/export", nil, nil))
	target, environ := folder(t), append(slices.Clone(s.cfg.Environ), "TSUMUGI_DATA="+s.cfg.Data)
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), s.cfg.Program, args...) //nolint:gosec // The program under test.
		cmd.Dir, cmd.Env = target, environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v", args, err)
		}
		return string(out)
	}
	run("backup", "backup")
	for want, got := range map[string]string{
		"and 1 files":     run("org", "export", "デモ株式会社", "export"),
		"can be restored": run("restore", "--rehearse", "backup"),
		`{"ok":true,`:     run("doctor", "--json"),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	log := must.Get(os.ReadFile(s.cfg.Log))(t)
	if regexp.MustCompile(`level=(WARN|ERROR)`).Match(log) {
		t.Error("the server logged a failure")
	}
	if n := noRoutes(t) - before; n > 0 {
		t.Errorf("%d connections to other machines: %s", n, log)
	}
}

// noRoutes returns the number of packets and connections of this network to other machines.
func noRoutes(t *testing.T) (n int) {
	t.Helper()
	for file, pattern := range map[string]string{
		"/proc/net/snmp": `(?m)^Ip: (?:\d+ ){11}(\d+)`, "/proc/net/snmp6": `Ip6OutNoRoutes\s+(\d+)`,
	} {
		text := must.Get(os.ReadFile(file))(t)
		if match := regexp.MustCompile(pattern).FindSubmatch(text); match != nil { // There may be no IPv6.
			count := must.Get(strconv.Atoi(string(match[1])))(t)
			n += count
		}
	}
	return n
}
