package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

var encrypted = &fault.UnreadableError{Code: fault.FileEncrypted, Reason: "パスワードで保護されています。"}

// run returns the answer of a child.
func run(ctx context.Context, cfg sandbox.Config, job sandbox.Job, content io.Reader) (answer string, _ error) {
	runner := sandbox.New(cfg)
	err := runner.Run(ctx, job, content, func(p *sandbox.Process) error {
		return p.Receive(runner.Whole(), func(frames *sandbox.Reader) error {
			found, err := frames.Answer()
			answer = string(found)
			return err
		})
	})
	return answer, err
}

// echo returns the content that a child has received.
func echo(ctx context.Context, cfg sandbox.Config, content io.Reader) (string, error) {
	return run(ctx, cfg, sandbox.Job{Task: "echo"}, content)
}

func TestFilesAreReadInAChild(t *testing.T) {
	t.Parallel()
	if text, err := echo(t.Context(), sandbox.Config{}, strings.NewReader("文章")); err != nil || text != "文章" {
		t.Errorf("%q and error %v", text, err)
	}
}

func TestReasonOfAnUnreadableFileIsReturned(t *testing.T) {
	t.Parallel()
	_, err := run(t.Context(), sandbox.Config{}, sandbox.Job{Task: "refuse"}, strings.NewReader("文章"))
	if wrong, ok := errors.AsType[*fault.UnreadableError](err); !ok || *wrong != *encrypted {
		t.Errorf("error %v, want %v", err, encrypted)
	}
}

func TestChildInheritsFiles(t *testing.T) {
	t.Parallel()
	var files []string
	for _, content := range []string{"一", "二"} {
		name := filepath.Join(t.TempDir(), "a")
		must.Succeed(t, os.WriteFile(name, []byte(content), 0o600))
		files = append(files, name)
	}
	job := sandbox.Job{Task: "inherit", Input: 1, Files: files}
	if text, err := run(t.Context(), sandbox.Config{}, job, strings.NewReader("")); err != nil || text != "二" {
		t.Errorf("%q and error %v, want the second file", text, err)
	}
	job.Files[1] += "missing"
	if _, err := run(t.Context(), sandbox.Config{}, job, strings.NewReader("")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v for a missing file", err)
	}
}

func TestTrustedTaskWritesFilesAtALowPriority(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := sandbox.Config{Whole: time.Nanosecond, Total: time.Nanosecond, Memory: 1} // They do not apply to it.
	job := sandbox.Job{Task: "write", Files: []string{dir}, CPU: time.Minute}
	must.Succeed(t, sandbox.New(cfg).RunTrusted(t.Context(), job))
	priorities := must.Get(os.ReadFile(filepath.Join(dir, "written")))(t)
	// The tests may run at a low priority themselves.
	if nice, err := strconv.Atoi(string(priorities)); runtime.GOOS == "linux" && (err != nil || nice < 10) {
		t.Errorf("nice values of the threads %q, want 10 for all", priorities)
	}
}

// TestTrustedTaskChangesOnlyItsOwnPriority starts a child as a script does, in the same process group.
func TestTrustedTaskChangesOnlyItsOwnPriority(t *testing.T) {
	t.Parallel()
	dir := must.Get(os.Open(t.TempDir()))(t)
	defer dir.Close()
	before := niceValues()
	cmd := exec.CommandContext(t.Context(), os.Args[0], sandbox.Command, `{"task":"write","cpu":60}`)
	cmd.ExtraFiles = []*os.File{dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if after := niceValues(); after != before {
		t.Errorf("the nice values of the parent were %s, now %s", before, after)
	}
}

func TestErrorOfATrustedTaskIsReturned(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{"fail": os.ErrInvalid.Error(), "unknown": `no task "unknown"`} {
		err := sandbox.New(sandbox.Config{}).RunTrusted(t.Context(), sandbox.Job{Task: task})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", task, err, want)
		}
	}
}

func TestChildInheritsNoSecrets(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("requires the limits for children, which only exist on Linux")
	}
	t.Setenv("OPENAI_API_KEY", "secret")
	text := must.Get(echo(t.Context(), sandbox.Config{}, strings.NewReader("misbehave tell")))(t)
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

// TestR79_CrashedChildIsReported lets children end in each way that a file can cause.
func TestR79_CrashedChildIsReported(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]error{
		"spin": sandbox.ErrTooSlow, "eat": sandbox.ErrTooLarge, "flood": sandbox.ErrCrashed,
		"panic": sandbox.ErrCrashed, "hang up": sandbox.ErrCrashed,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cfg := sandbox.Config{Memory: 300 << 20}
			if how == "spin" { // The others may take longer on a busy machine.
				cfg.Whole = 3 * time.Second
			}
			if _, err := echo(t.Context(), cfg, strings.NewReader("misbehave "+how)); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
		})
	}
}

func TestChildWritesNoFiles(t *testing.T) {
	t.Parallel()
	if _, err := echo(t.Context(), sandbox.Config{}, strings.NewReader("misbehave write")); err != nil {
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

func TestR79_KilledChildIsNotReportedAsCrashed(t *testing.T) {
	t.Parallel()
	const marker = "the child of this test"
	_, err := run(t.Context(), sandbox.Config{}, sandbox.Job{Task: "echo", Input: marker},
		&killer{strings.NewReader("文章"), syscall.SIGKILL, marker})
	for _, not := range []error{nil, sandbox.ErrCrashed, sandbox.ErrTooSlow, sandbox.ErrTooLarge} {
		if errors.Is(err, not) {
			t.Errorf("error %v", err)
		}
	}
	if _, ok := errors.AsType[*fault.UnreadableError](err); ok {
		t.Errorf("error %v, want one other than *fault.UnreadableError", err)
	}
}

// TestBusyMachineIsNotReportedAsSlowFile verifies that killing a child without CPU time is not reported as a defect of
// the file.
func TestBusyMachineIsNotReportedAsSlowFile(t *testing.T) {
	t.Parallel()
	_, err := echo(t.Context(), sandbox.Config{Whole: 200 * time.Millisecond}, strings.NewReader("misbehave sleep"))
	if errors.Is(err, sandbox.ErrTooSlow) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v; want a deadline", err)
	}
}

func TestErrorsOfTheCallerPassThrough(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	err := sandbox.New(sandbox.Config{}).Run(t.Context(), sandbox.Job{Task: "echo"}, strings.NewReader("文章"),
		func(*sandbox.Process) error { return own })
	if !errors.Is(err, own) {
		t.Errorf("error %v, want the caller's", err)
	}
	_, err = echo(t.Context(), sandbox.Config{}, io.MultiReader(strings.NewReader("文章"), failing{own}))
	if !errors.Is(err, own) {
		t.Errorf("error %v, want the file's", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if _, err = echo(ctx, sandbox.Config{}, strings.NewReader("misbehave sleep")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
