package mail_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	. "github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestNothingAddsHeaders puts line breaks and other control characters into all untrusted values.
func TestNothingAddsHeaders(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{
		"x\r\nBcc: eve@evil.example", "x\nSubject: other", "x\u2028Bcc: eve@evil.example", "\x00\x1b[2J",
		strings.Repeat("長", 100), strings.Repeat("a b ", 60),
		"\"quoted\" <eve@evil.example>", "a,b;c", "=?utf-8?q?=0D=0ABcc:_eve?=", "\xff\xfe", "\u202egnp.exe",
		strings.Repeat(" ", 200) + "x",
	} {
		check(t, invited.Email, evil, "code\r\n.\r\nMAIL FROM:<eve@evil.example>")
	}
	m := must.Get(New(Config{Folder: t.TempDir(), Console: io.Discard, PublicURL: public}))(t)
	for _, email := range []string{
		"", "nobody", "a@b\r\nBcc: c@d", "a@b>,<c@d", "Eve <a@b>", "a@b c", "日本@demo.example", "a@b,c@d",
		"a(comment)@b", "a@b\x00",
	} {
		if err := m.Send(t.Context(), SSOInvitation{Email: email, Name: "x"}); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("address %q: %v", email, err)
		}
	}
}

func FuzzLetters(f *testing.F) {
	f.Add("taro@demo.example", "山田 太郎", "012345")
	f.Add("a@b", "x\r\nBcc: eve@evil.example", "\r\n.\r\n")
	f.Fuzz(func(t *testing.T, email, name, code string) { check(t, email, name, code) })
}

// check writes and parses a mail. The mail must have one recipient and only the expected headers.
func check(t testing.TB, email, name, code string) {
	t.Helper()
	dir := t.TempDir()
	var console bytes.Buffer
	m := must.Get(New(Config{Folder: dir, Console: &console, PublicURL: public}))(t)
	if err := m.Send(context.Background(), ResetCode{Email: email, Name: name, Code: code}); err != nil {
		if fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%q %q: %v", email, name, err)
		}
		return
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0]) //nolint:gosec // The folder is the test's.
	must.Succeed(t, err)
	written := strings.ReplaceAll(string(data), "\r\n", "\n")
	lines(t, written)
	header, _, _ := parts(t, written)
	for key, values := range header {
		known := strings.Fields(
			"Auto-Submitted Content-Type Date From Message-Id Mime-Version Subject To X-Auto-Response-Suppress",
		)
		if !slices.Contains(known, key) || len(values) != 1 {
			t.Errorf("%q: header %s: %v", name, key, values)
		}
	}
	if to, err := header.AddressList("To"); err != nil || len(to) != 1 || to[0].Address != email ||
		strings.ContainsAny(to[0].Name, "\r\n") {
		t.Errorf("%q: to %v, %v", name, to, err)
	}
	if strings.ContainsAny(console.String(), "\r\x1b\x00") {
		t.Errorf("the console is told %q", console.String())
	}
}
