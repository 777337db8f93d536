package mail

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// folder stores mails in files instead of sending them, and prints their links and codes on the console.
type folder struct {
	dir string

	mu      sync.Mutex // Guards console, so that the lines of a mail stay together.
	console io.Writer
}

// fileTime is the time format of file names. Names sort by time.
const fileTime = "20060102T150405.000000000Z"

// keepFor is the time for which mails are stored, so that repeated password resets do not fill the disk. Their links
// and codes expire earlier.
const keepFor = 30 * 24 * time.Hour

// keep writes the mail to a file that only this operating system user may read, and removes expired mails.
func (f *folder) keep(_ context.Context, letter letter, message *gomail.Msg) error {
	name, err := f.write(message)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "メールを保存できませんでした。")
	}
	f.sweep()
	var b strings.Builder
	fmt.Fprintf(&b, "\n  メール（送信サーバーの設定がないため、送らずに保存しました）\n    宛先：%s <%s>\n    件名：%s\n", letter.Name, letter.Email,
		letter.Subject)
	for _, fact := range letter.Facts {
		fmt.Fprintf(&b, "    %s：%s\n", fact.Label, fact.Value)
	}
	fmt.Fprintf(&b, "    %s：%s\n    ファイル：%s\n\n", letter.Button, letter.Link, name)
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = io.WriteString(f.console, b.String())
	return err
}

// write writes the mail to a temporary file, renames it when it is complete, and returns its name.
func (f *folder) write(message *gomail.Msg) (string, error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(f.dir, ".mail-*") // Readable by this user only.
	if err != nil {
		return "", err
	}
	_, err = message.WriteTo(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	random := strings.TrimPrefix(filepath.Base(file.Name()), ".mail-")
	name := filepath.Join(f.dir, time.Now().UTC().Format(fileTime)+"-"+random+".eml")
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return name, err
}

// sweep removes expired mails. It ignores errors, and files that this package did not write.
func (f *folder) sweep() {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return
	}
	for _, entry := range entries { // Sorted by name, so the oldest mail is first.
		at, rest, _ := strings.Cut(entry.Name(), "-")
		written, err := time.Parse(fileTime, at)
		if err != nil || !strings.HasSuffix(rest, ".eml") {
			continue
		}
		if time.Since(written) < keepFor {
			return
		}
		_ = os.Remove(filepath.Join(f.dir, entry.Name()))
	}
}
