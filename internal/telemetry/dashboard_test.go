package telemetry_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/siem"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/internal/telemetry"
	"github.com/tsumugi-ai/tsumugi/internal/websearch"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// everything returns the metrics page with all metrics of the server.
func everything(t *testing.T) string {
	t.Helper()
	tel := must.Get(telemetry.New(t.Context(), telemetry.Config{Version: "v1"}))(t)
	tel.WatchStreams(func() sse.Stats { return sse.Stats{} }, func() stream.HubStats { return stream.HubStats{} })
	tel.WatchGenerations(func() chat.Stats { return chat.Stats{} })
	tel.WatchChannels(func() channel.Stats { return channel.Stats{} })
	tel.WatchWebSearch(func() websearch.Stats { return websearch.Stats{} })
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1/unused") // It connects when it is used.
	must.Succeed(t, err)
	t.Cleanup(pool.Close)
	tel.WatchDatabase(pool.Stat)
	tel.WatchFiles(func() bucket.Stats { return bucket.Stats{} })
	tel.WatchUpkeep(func() telemetry.Upkeep { return telemetry.Upkeep{} })
	tel.WatchSIEM(func() []siem.Stats { return []siem.Stats{{Sink: "otlp"}} })
	tel.WatchMail(func() mail.Stats { return mail.Stats{} })
	tel.WatchReadings(func() datasource.Stats { return datasource.Stats{} })
	tel.WatchBridge(func() bool { return true })
	tel.WatchTally(func() tally.Stats { return tally.Stats{} })
	tel.WatchLive(func() int { return 1 })
	answers := tel.Generations()
	answers.GenerationEnded(chat.OutcomeSuccess, 1, 1)
	answers.ToolCalled("calculate", string(chat.ToolDone), 1)
	tel.RequestDone("GET", "/v1/me", 200, 1)
	return scrape(t, tel)
}

func TestDashboardAlertsAndGuideNameExistingMetrics(t *testing.T) {
	t.Parallel()
	dashboard := must.Get(os.ReadFile("../../deploy/grafana/tsumugi.json"))(t)
	if !json.Valid(dashboard) {
		t.Error("the dashboard is not valid JSON")
	}
	guide := must.Get(os.ReadFile("../../docs/operating.md"))(t)
	alerts := must.Get(os.ReadFile("../../deploy/prometheus/alerts.yaml"))(t)
	text := everything(t)
	for name, file := range map[string]string{
		"dashboard": string(dashboard), "guide": string(guide), "list of alerts": string(alerts),
	} {
		for _, metric := range regexp.MustCompile(`\b(tsumugi|process|go)_[a-z_]*[a-z]\b`).FindAllString(file, -1) {
			for _, part := range []string{"_bucket", "_count"} { // Of a histogram.
				metric = strings.TrimSuffix(metric, part)
			}
			if !strings.Contains(text, "\n"+metric+" ") && !strings.Contains(text, "\n"+metric+"{") &&
				!strings.Contains(text, "# TYPE "+metric+" ") {
				t.Errorf("the %s names %s, which is not there", name, metric)
			}
		}
	}
	for _, match := range regexp.MustCompile(`# TYPE (tsumugi_\w+) `).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(string(guide), "`"+match[1]+"`") {
			t.Errorf("the guide lacks %s", match[1])
		}
	}
}

// TestAlertsLinkToTheRunbook checks that each alert links to a heading of the runbook.
func TestAlertsLinkToTheRunbook(t *testing.T) {
	t.Parallel()
	alerts := must.Get(os.ReadFile("../../deploy/prometheus/alerts.yaml"))(t)
	runbook := must.Get(os.ReadFile("../../docs/troubleshooting.md"))(t)
	anchors := make(map[string]bool) // As GitHub makes them.
	for _, heading := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(runbook), -1) {
		anchors[strings.ToLower(strings.NewReplacer("、", "", " ", "-").Replace(heading[1]))] = true
	}
	names := regexp.MustCompile(`- alert: `).FindAllString(string(alerts), -1)
	links := regexp.MustCompile(`runbook_url: \S+/docs/troubleshooting\.md#(\S+)`).FindAllStringSubmatch(string(alerts), -1)
	if len(links) == 0 || len(links) != len(names) {
		t.Errorf("%d alerts have %d links", len(names), len(links))
	}
	for _, link := range links {
		if !anchors[link[1]] {
			t.Errorf("the runbook has no heading %s", link[1])
		}
	}
}
