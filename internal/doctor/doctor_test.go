package doctor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// TestChecksRunConcurrently runs slow checks. One of them ignores its time limit.
func TestChecksRunConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := func(context.Context) doctor.Result {
			time.Sleep(4 * time.Second)
			return doctor.Found("遅い", "slow")
		}
		began := time.Now()
		reports := doctor.Run(t.Context(), []doctor.Check{
			{ID: "hangs", Run: func(context.Context) doctor.Result {
				<-release
				return doctor.NotConfigured()
			}},
			{ID: "late", Limit: 2 * time.Second, Run: func(ctx context.Context) doctor.Result {
				<-ctx.Done()
				return doctor.Found("中止", "%v", ctx.Err()).Warn("待つ", "wait")
			}},
			{ID: "slow", Run: slow},
			{ID: "slow", Run: slow},
		}, doctor.Options{Language: doctor.English, Limit: 5 * time.Second})
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("took %v", took)
		}
		close(release)
		for i, want := range []doctor.Report{
			{ID: "hangs", State: doctor.Failure, Found: "no response within 5s"},
			{ID: "late", State: doctor.Warning, Found: "context deadline exceeded", Advice: "wait"},
			{ID: "slow", State: doctor.OK, Found: "slow"},
			{ID: "slow", State: doctor.OK, Found: "slow"},
		} {
			got := reports[i]
			if i == 0 && got.Advice != "" {
				got.Advice = ""
			}
			if got != want {
				t.Errorf("%d: %+v", i, got)
			}
		}
	})
}

func TestReportsAreShortAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	remote := "a\x1b[31m\n\u202eb key=geheim!1 key=geheim!1-long key=geheim%211 " + strings.Repeat("長", 1000)
	check := doctor.Check{ID: "x", Name: doctor.Text{JA: "名前", EN: "name"}, Subject: remote}
	check.Run = func(context.Context) doctor.Result {
		return doctor.Found("%s", "%s", remote).Warn("一つ目 100%", "first").Fail("%s", "%s", remote)
	}
	secrets := []string{"geheim!1", "", "b", "geheim!1-long"}
	for _, language := range []doctor.Language{doctor.Japanese, doctor.English} {
		report := doctor.Run(t.Context(), []doctor.Check{check}, doctor.Options{
			Language: language, Limit: time.Minute, Secrets: secrets,
		})[0]
		if report.State != doctor.Failure || report.Name != check.Name.In(language) {
			t.Errorf("got %+v", report)
		}
		if !strings.HasPrefix(report.Found, "a[31m b key=… key=… key=… ") {
			t.Errorf("got %q", report.Found)
		}
		for _, text := range []string{report.Subject, report.Found, report.Advice} {
			if strings.Contains(text, "geheim") || strings.Contains(text, "-long") ||
				strings.ContainsAny(text, "\x1b\n\u202e") || utf8.RuneCountInString(text) > 300 {
				t.Errorf("got %q", text)
			}
		}
	}
}

func TestCauseLeavesOutTextsForUsers(t *testing.T) {
	t.Parallel()
	cause := errors.New("status 401")
	for want, err := range map[string]error{
		"status 401":              cause,
		"unavailable":             fault.Errorf(fault.Unavailable, "後でお試しください。"),
		"unavailable: status 401": fault.Wrap(cause, fault.Unavailable, "後でお試しください。"),
	} {
		if got := doctor.Cause(err); got != want {
			t.Errorf("%v: %q", err, got)
		}
	}
}
