package child_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/child"
)

// read returns the text that a child extracts from a file.
func read(ctx context.Context, cfg child.Config, name string, content io.Reader) (text string, _ error) {
	err := child.New(cfg).Extract(ctx, name, content, func(p extract.Page, _ int) error {
		text += p.Text
		return nil
	})
	return text, err
}

func TestFilesAreReadInAChild(t *testing.T) {
	t.Parallel()
	text, err := read(t.Context(), child.Config{}, "表.csv", strings.NewReader("名前,年齢\n山田,3\n"))
	if want := "名前 / 年齢\n\n名前: 山田 / 年齢: 3"; err != nil || text != want {
		t.Errorf("%q and error %v, want %q", text, err, want)
	}
}

func TestChildInheritsNoSecrets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("requires the limits for children, which only exist on Linux")
	}
	t.Setenv("OPENAI_API_KEY", "secret")
	text, err := read(t.Context(), child.Config{}, "a.txt", strings.NewReader("misbehave tell"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "secret") {
		t.Errorf("it has the server's environment: %s", text)
	}
	if !strings.Contains(text, "no new privileges: 1") {
		t.Errorf("it may gain privileges: %s", text)
	}
	if os.Getuid() == 0 && !strings.Contains(text, "uid=65534") {
		t.Errorf("it is root: %s", text)
	}
}

// TestR79_CrashedChildIsReportedAsUnreadable lets children end in each way that a file can cause.
func TestR79_CrashedChildIsReportedAsUnreadable(t *testing.T) {
	t.Parallel()
	cfg := child.Config{Page: time.Second, Whole: 3 * time.Second, Memory: 300 << 20}
	for _, how := range []string{"spin", "eat", "flood", "panic", "hang up"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			_, err := read(t.Context(), cfg, "a.txt", strings.NewReader("misbehave "+how))
			wrong, ok := errors.AsType[*extract.UnreadableError](err)
			if !ok || !strings.HasSuffix(wrong.Reason, "アップロードしてください。") {
				t.Errorf("error %v, want an *extract.Unreadable with advice", err)
			}
		})
	}
}

func TestChildWritesNoFiles(t *testing.T) {
	t.Parallel()
	if _, err := read(t.Context(), child.Config{}, "a.txt", strings.NewReader("misbehave write")); err != nil {
		t.Error(err)
	}
}

// killer is a file that kills the child while it is read.
type killer struct {
	r      io.Reader
	signal syscall.Signal
	marker string
}

func (k *killer) Read(p []byte) (int, error) {
	n, err := k.r.Read(p)
	if n == 0 {
		for _, pid := range children(k.marker) {
			_ = syscall.Kill(pid, k.signal)
		}
	}
	return n, err
}

// children returns the ids of processes whose command line contains a word.
func children(word string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if bytes.HasPrefix(line, []byte("tsumugi\x00extract\x00")) && bytes.Contains(line, []byte(word)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestR79_KilledChildIsNotReportedAsUnreadable(t *testing.T) {
	t.Parallel()
	// No other test uses this format. It identifies the child of this test.
	_, err := read(t.Context(), child.Config{}, "a.markdown",
		&killer{strings.NewReader("文章"), syscall.SIGKILL, ".markdown"})
	if _, ok := errors.AsType[*extract.UnreadableError](err); ok || err == nil {
		t.Errorf("error %v, want one other than *extract.Unreadable", err)
	}
}

func TestErrorsOfTheCallerPassThrough(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	err := child.New(child.Config{}).Extract(t.Context(), "a.txt", strings.NewReader("文章"),
		func(extract.Page, int) error { return own })
	if !errors.Is(err, own) {
		t.Errorf("error %v, want the caller's", err)
	}
	_, err = read(t.Context(), child.Config{}, "a.txt", io.MultiReader(strings.NewReader("文章"), failing{own}))
	if !errors.Is(err, own) {
		t.Errorf("error %v, want the file's", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err = read(ctx, child.Config{}, "a.txt", strings.NewReader("misbehave sleep")); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
