package mail_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	. "github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestWithoutServerMailsAreStored(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "mail")
	var console bytes.Buffer
	m := must.Get(New(Config{Folder: dir, Console: &console, PublicURL: public}))(t)
	must.Succeed(t, m.Send(t.Context(), invited))
	must.Succeed(t, m.Send(t.Context(), ResetCode{
		Email: invited.Email, Code: "987654",
		ValidFor: time.Hour,
	}))
	for _, part := range []string{
		"宛先：山田 太郎 <" + invited.Email + ">", "仮パスワード：" + invited.TemporaryPassword,
		public + "/login?email=taro.yamada%2B1%40demo.example", "確認コード：987654", dir,
	} {
		if !strings.Contains(console.String(), part) {
			t.Errorf("the console lacks %q:\n%s", part, console.String())
		}
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("got %v %v", entries, err)
	}
	for i, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.Mode().Perm() != 0o600 ||
			!regexp.MustCompile(`^\d{8}T\d{6}\.\d{9}Z-\w+\.eml$`).MatchString(entry.Name()) {
			t.Errorf("%s %v %v", entry.Name(), info.Mode(), err)
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name())) //nolint:gosec // The folder is the test's.
		must.Succeed(t, err)
		if _, text, _ := parts(t, string(data)); strings.Contains(text, "987654") != (i == 1) {
			t.Errorf("%s does not stand in order", entry.Name())
		}
	}
	blocked, err := New(Config{Folder: filepath.Join(dir, entries[0].Name()), Console: io.Discard, PublicURL: public})
	must.Succeed(t, err)
	if err := blocked.Send(t.Context(), invited); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a folder that is a file: %v", err)
	}
}

// TestExpiredMailsAreRemoved checks that expired mails are removed, and no files of other origin.
func TestExpiredMailsAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(age time.Duration) string {
		return time.Now().UTC().Add(-age).Format("20060102T150405.000000000Z") + "-123.eml"
	}
	gone, kept := name(31*24*time.Hour), name(29*24*time.Hour)
	others := []string{
		kept, "00-readme.eml", name(400*24*time.Hour) + ".bak", "20000101T000000.000000000Z.txt",
		"letters",
	}
	for _, file := range append([]string{gone}, others...) {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
	}
	m := must.Get(New(Config{Folder: dir, Console: io.Discard, PublicURL: public}))(t)
	must.Succeed(t, m.Send(t.Context(), invited))
	for _, file := range others {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, gone)); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", gone, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(others)+1 {
		t.Errorf("got %v %v", entries, err)
	}
}
