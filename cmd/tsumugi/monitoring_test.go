package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// metrics returns the process's metrics page.
func (p *process) metrics(t *testing.T) string {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+"/metrics", nil))(t)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))(t)
	return string(text)
}

// gauge returns the value of a metric without labels.
func gauge(t *testing.T, page, name string) time.Time {
	t.Helper()
	match := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(page)
	if match == nil {
		t.Fatalf("%s is missing", name)
	}
	value := must.Get(strconv.ParseFloat(match[1], 64))(t)
	return time.Unix(int64(value), 0)
}

// TestBackupsAndCertificatesAreMonitored makes a backup that fails and two that succeed, and reads the metrics of a
// server. The certificate is that of the organization whose single sign-on ends first. The server has all metrics of the
// alerts and of the dashboard.
func TestBackupsAndCertificatesAreMonitored(t *testing.T) {
	t.Parallel()
	o, began := on(t), time.Now().Truncate(time.Second)
	end := began.AddDate(0, 1, 0)
	for name, of := range map[string]time.Time{"紡績株式会社": end, "商事株式会社": end.AddDate(1, 0, 0)} {
		o.do("org", "create", "--name", name)
		signOn(t, o.dsn(), name, of)
	}
	occupied := filepath.Join(t.TempDir(), "occupied")
	must.Succeed(t, os.WriteFile(occupied, nil, 0o600))
	o.refused("the target", "backup", occupied)
	var backups int
	if err := storetest.Pool(t, o.dsn()).QueryRow(t.Context(), `SELECT count(*) FROM last_backup`).Scan(&backups); err != nil ||
		backups != 0 {
		t.Errorf("a failed backup was stored: %d, %v", backups, err)
	}
	target := t.TempDir()
	o.do("backup", target)
	o.do("backup", target)

	p := start(t, t.TempDir(), o.environ[0], "TSUMUGI_DEMO=false", "TSUMUGI_SEARCH_URL=http://127.0.0.1:1",
		"TSUMUGI_AUDIT_OTLP_URL=http://127.0.0.1:1")
	page := p.metrics(t)
	for gauge(t, page, "tsumugi_last_backup_timestamp_seconds").Unix() == 0 { // Not read yet.
		page = p.metrics(t)
	}
	if at := gauge(t, page, "tsumugi_last_backup_timestamp_seconds"); at.Before(began) || at.After(time.Now()) {
		t.Errorf("the last backup ended at %v", at)
	}
	if at := gauge(t, page, "tsumugi_certificate_expiry_timestamp_seconds"); !at.Equal(end) {
		t.Errorf("the first certificate ends at %v, want %v", at, end)
	}
	if !strings.Contains(page, "\n"+`tsumugi_file_operations_total{operation="write",result="failed"} 0`+"\n") {
		t.Error("failed writes are not counted")
	}
	p.json(t, "GET", "/v1/me", "", nil, nil)                      // Calls are counted from the first one on.
	page = p.metrics(t) + "# TYPE tsumugi_nats_connected gauge\n" // Of servers with NATS.
	for _, file := range []string{"prometheus/alerts.yaml", "grafana/tsumugi.json"} {
		text := must.Get(os.ReadFile("../../deploy/" + file))(t)
		for _, name := range regexp.MustCompile(`\btsumugi_[a-z_]*[a-z]\b`).FindAllString(string(text), -1) {
			metric := regexp.MustCompile(`_(bucket|count)$`).ReplaceAllString(name, "")
			if !strings.Contains(page, "# TYPE "+metric+" ") {
				t.Errorf("%s names %s, which a server does not have", file, name)
			}
		}
	}
}
