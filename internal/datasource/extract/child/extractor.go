package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
)

// Command is the program's command that calls Main with the next argument.
const Command = "extract"

// Config contains the limits of a child. A zero field means its default. A time limit is exceeded when both the elapsed
// time and the child's CPU time exceed it.
type Config struct {
	Page   time.Duration // For opening a file that is read page by page, and for each of its pages. Default 5 s.
	Whole  time.Duration // For a file that is read at once, and for a child to start. Default 1 min.
	Total  time.Duration // For the whole job. Default 10 min.
	Memory int64         // Resident memory, in bytes. Default 512 MiB.
	// Path of a font with Japanese characters, for files that do not embed theirs. Default: those files are refused.
	Font string
	// Folder for compiled code, created if it does not exist. Several servers may share it. Default: each child
	// compiles, which takes seconds.
	Cache string
	Log   *slog.Logger // Default: none.
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&c.Page, 5 * time.Second}, {&c.Whole, time.Minute}, {&c.Total, 10 * time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	if c.Memory <= 0 {
		c.Memory = 512 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Errors for a file whose child was killed.
var (
	unreadableSlow = &extract.UnreadableError{Code: extract.TooLarge, Reason: "読み取りに時間がかかりすぎるため、中止しました。" +
		"ファイルを分けるか、図を減らして保存し直してから、もう一度アップロードしてください。"}
	unreadableBig = &extract.UnreadableError{Code: extract.TooLarge, Reason: "ファイルが大きく複雑なため、読み取れませんでした。" +
		"ファイルを分けるか、図を減らして保存し直してから、もう一度アップロードしてください。"}
	unreadableBroken = &extract.UnreadableError{Code: extract.Corrupt, Reason: "ファイルが壊れているか、特殊な作りのため、読み取れませんでした。" +
		"元のアプリで保存し直してから、もう一度アップロードしてください。"}
)

// Extractor reads each file in a separate child process. It is safe for concurrent use.
type Extractor struct {
	cfg Config

	compiling chan struct{} // Holds a value during compilation.
	compiled  atomic.Bool
}

// New returns an Extractor. The program must call Main when its command is Command.
func New(cfg Config) *Extractor {
	return &Extractor{cfg: cfg.withDefaults(), compiling: make(chan struct{}, 1)}
}

// Prepare waits until the reader for the extension of filename is compiled, which takes minutes on a slow machine. The
// limits of a file do not include this time. Errors are unrelated to any file.
func (e *Extractor) Prepare(ctx context.Context, filename string) error {
	if format, ok := extract.FormatOf(filename); ok && format.IsPaged() {
		return e.compile(ctx)
	}
	return nil
}

// Extract reads a file in the format of the extension of filename. It calls page for each page in order. total is the
// number of pages, or 0 while it is unknown. The error is an *extract.UnreadableError if the file cannot be read, or if
// its child crashed or exceeded a limit. Errors of page, file and ctx are returned unchanged. Any other error is
// unrelated to the file: the child was killed from outside, could not start, or was stopped because it got almost no
// CPU time (a context.DeadlineExceeded).
func (e *Extractor) Extract(ctx context.Context, filename string, file io.Reader,
	page func(p extract.Page, total int) error,
) error {
	format, ok := extract.FormatOf(filename)
	if !ok {
		return fmt.Errorf("child: no format for a file *%s", path.Ext(filename))
	}
	job := Job{Task: taskRead, Name: "a" + path.Ext(filename), CPU: e.cpuSeconds()}
	if format.IsPaged() {
		if err := e.compile(ctx); err != nil {
			return err
		}
		job.Cache = e.cfg.Cache != ""
	}
	return e.run(ctx, job, file, func(p *process) error {
		frames := newFrameReader(p.out)
		for within := e.cfg.Whole; ; {
			p.expect(within)
			got, total, err := frames.next()
			p.received()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if got.Number > 0 {
				if err := page(got, total); err != nil {
					return &callerError{err}
				}
			}
			if format.IsPaged() {
				within = e.cfg.Page
			}
		}
	})
}

// openShared opens the files that a child inherits.
func (e *Extractor) openShared(job *Job) (files []*os.File, _ error) {
	paths := []string{e.cfg.Font, e.cfg.Cache}
	job.Font = e.cfg.Font != ""
	if !job.Cache {
		paths[1] = ""
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		f, err := os.Open(path) //nolint:gosec // The operator's.
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// compile fills the cache with compiled PDFium, once, in a child that reads no file. Other children cannot write to the
// cache.
func (e *Extractor) compile(ctx context.Context) error {
	if e.cfg.Cache == "" || e.isCompiled() {
		return nil
	}
	select {
	case e.compiling <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-e.compiling }()
	if e.isCompiled() {
		return nil
	}
	if err := os.MkdirAll(e.cfg.Cache, 0o755); err != nil { //nolint:gosec // Nothing in it is secret.
		return err
	}
	err := e.run(ctx, Job{Task: taskCompile, Cache: true, CPU: compileCPU}, strings.NewReader(""),
		func(p *process) error {
			_, err := io.Copy(io.Discard, p.out)
			<-p.ended
			return errors.Join(err, p.err)
		})
	if err == nil {
		e.compiled.Store(true)
		// If another user owns the folder, the file cannot be written. Each server then runs one compilation, which
		// finds the code.
		_ = os.WriteFile(e.stamp(), nil, 0o644) //nolint:gosec // Nothing is in it.
	}
	return err
}

// isCompiled reports whether this server, or one with the same versions, has filled the cache, and the cache still
// exists.
func (e *Extractor) isCompiled() bool {
	folders, err := filepath.Glob(filepath.Join(e.cfg.Cache, "wazero-*"))
	if err != nil || len(folders) == 0 {
		return false
	}
	_, err = os.Stat(e.stamp())
	return err == nil || e.compiled.Load()
}

// stamp returns the path of the file that marks the cache as complete for the versions of PDFium and wazero and for the
// processor, on which the compiled code depends.
func (e *Extractor) stamp() string {
	name := "compiled-" + runtime.GOARCH
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/klippa-app/go-pdfium" || module.Path == "github.com/tetratelabs/wazero" {
				name += "-" + module.Version
			}
		}
	}
	return filepath.Join(e.cfg.Cache, name)
}

// compileCPU is the CPU limit for compiling PDFium, in seconds. It takes three, 25 with the race detector.
const compileCPU = 3600

// cpuSeconds returns the CPU limit of a child: the total time limit on two cores.
func (e *Extractor) cpuSeconds() uint64 { return uint64(2 * e.cfg.Total / time.Second) }

// callerError is an error of the caller, which is returned unchanged.
type callerError struct{ error }

// run starts a child for a job and calls read to handle its output.
func (e *Extractor) run(ctx context.Context, job Job, file io.Reader, read func(*process) error) error {
	files, err := e.openShared(&job)
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	argument, err := json.Marshal(job)
	if err != nil {
		return err
	}
	p, err := e.start(ctx, []string{Command, string(argument)}, file, files, job.Task == taskCompile)
	if err != nil {
		return err
	}
	defer p.stop()
	err = read(p)
	if err == nil {
		p.stop()
		return p.source.err
	}
	if caller, ok := errors.AsType[*callerError](err); ok {
		return caller.error
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if job.Task == taskCompile {
		return fmt.Errorf("child: PDFium could not be compiled: %w: %s", err, p.message.b.String())
	}
	return e.explain(p, err)
}

// explain returns the error of a job whose child ended early or broke the protocol.
func (e *Extractor) explain(p *process, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		select { // Wait for its exit status.
		case <-p.ended:
		case <-time.After(pipeTimeout):
			err = fmt.Errorf("%w: %w before the child's", errFrames, err)
		}
	}
	why := context.Cause(p.ctx)
	p.stop()
	if p.source.err != nil {
		return p.source.err
	}
	if wrong, ok := errors.AsType[*extract.UnreadableError](err); ok {
		return wrong
	}
	if errors.Is(err, extract.ErrNoPage) {
		return err
	}
	said := p.message.b.String()
	switch {
	case errors.Is(why, errTooSlow):
		return unreadableSlow
	case errors.Is(why, errStalled):
		return errStalled
	case errors.Is(why, errTooBig), strings.Contains(said, "out of memory"):
		return unreadableBig
	case errors.Is(err, errFrames), crashed(p.err):
		e.cfg.Log.Warn("a child that read a file crashed", "err", err, "exit", p.err, "said", said)
		return unreadableBroken
	}
	return fmt.Errorf("child: %w: %w: %s", err, p.err, said)
}

// crashed reports whether a child ended without an external kill while it read a file. A child that cannot start its
// job exits with 1.
func crashed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err == nil
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return status.Signal() != syscall.SIGKILL && status.Signal() != syscall.SIGTERM
	}
	return exit.ExitCode() != 1
}
