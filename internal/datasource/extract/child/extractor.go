package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
)

// Command is the command of the program that calls Main with the argument behind it.
const Command = "extract"

// Config bounds what a child may use. The zero value of a field means its default.
type Config struct {
	Page   time.Duration // For opening a file that is read page by page, and for each of its pages. Default 5 s.
	Whole  time.Duration // For a file that is read at once, and for a child to begin. Default 1 min.
	Total  time.Duration // For everything. Default 10 min.
	Memory int64         // In memory at once, in bytes. Default 512 MiB.
	// A font with Japanese characters, for files without their own. Default: those files are refused.
	Font string
	// Folder for compiled code, which is made if it is not there. Default: a child compiles for seconds.
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

// Why a file is refused whose child was ended.
var (
	unreadableSlow = &extract.Unreadable{Code: extract.TooLarge, Reason: "読み取りに時間がかかりすぎるため、中止しました。" +
		"ファイルを分けるか、図を減らして保存し直してから、もう一度アップロードしてください。"}
	unreadableBig = &extract.Unreadable{Code: extract.TooLarge, Reason: "ファイルが大きく複雑なため、読み取れませんでした。" +
		"ファイルを分けるか、図を減らして保存し直してから、もう一度アップロードしてください。"}
	unreadableBroken = &extract.Unreadable{Code: extract.Corrupt, Reason: "ファイルが壊れているか、特殊な作りのため、読み取れませんでした。" +
		"元のアプリで保存し直してから、もう一度アップロードしてください。"}
)

// Extractor reads files, each in a child of its own. It is safe for concurrent use, and keeps nothing.
type Extractor struct {
	cfg Config

	compiling chan struct{} // Holds a value while somebody may compile.
	compiled  atomic.Bool
}

// New returns an Extractor. The program must call Main for Command.
func New(cfg Config) *Extractor {
	return &Extractor{cfg: cfg.withDefaults(), compiling: make(chan struct{}, 1)}
}

// Extract reads a file, whose format its name tells, and calls page for each of its pages, in order, with the number of
// pages, or 0 while that is unknown. It returns an *extract.Unreadable if the file cannot be read, whatever became of
// the child by it, and the error of page, of file, or of ctx as they are. Any other error says nothing about the file:
// the child was killed from outside, or could not be started.
func (e *Extractor) Extract(ctx context.Context, filename string, file io.Reader,
	page func(p extract.Page, total int) error,
) error {
	format, ok := extract.FormatOf(filename)
	if !ok {
		return fmt.Errorf("child: no format for a file *%s", path.Ext(filename))
	}
	job := Job{Task: taskRead, Name: "a" + path.Ext(filename), CPU: e.cpuSeconds()}
	if format.ByPage() {
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
			if format.ByPage() {
				within = e.cfg.Page
			}
		}
	})
}

// lend opens what a child may read.
func (e *Extractor) lend(job *Job) (files []*os.File, _ error) {
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

// compile has a child that no file has touched compile PDFium into the cache, once. Others may read it, and not write.
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
	err := e.run(ctx, Job{Task: taskCompile, Cache: true, CPU: e.cpuSeconds()}, strings.NewReader(""),
		func(p *process) error {
			p.expect(e.cfg.Total)
			_, err := io.Copy(io.Discard, p.out)
			<-p.ended
			return errors.Join(err, p.err)
		})
	if err != nil {
		return err
	}
	err = openToAll(e.cfg.Cache)
	e.compiled.Store(err == nil)
	return err
}

// isCompiled reports whether this process has filled the cache, and nobody has removed it since.
func (e *Extractor) isCompiled() bool {
	entries, err := os.ReadDir(e.cfg.Cache)
	return e.compiled.Load() && err == nil && len(entries) > 0
}

// openToAll lets other users read a folder.
func openToAll(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if entry.IsDir() {
			mode = 0o755
		}
		return root.Chmod(path, mode)
	})
}

// cpuSeconds is what a child may compute: all of its time, on two cores.
func (e *Extractor) cpuSeconds() uint64 { return uint64(2 * e.cfg.Total / time.Second) }

// callerError is an error of the caller's own, which passes through.
type callerError struct{ error }

// run has a child do a job, and read handle what it writes.
func (e *Extractor) run(ctx context.Context, job Job, file io.Reader, read func(*process) error) error {
	files, err := e.lend(&job)
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
	return e.explain(p, err)
}

// explain says what has become of a file whose child ended early, or wrote what nobody understands.
func (e *Extractor) explain(p *process, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		select { // It may be about to say why.
		case <-p.ended:
		case <-time.After(endPatience):
			err = fmt.Errorf("%w: %w before the child's", errFrames, err)
		}
	}
	why := context.Cause(p.ctx)
	p.stop()
	if p.source.err != nil {
		return p.source.err
	}
	if wrong, ok := errors.AsType[*extract.Unreadable](err); ok {
		return wrong
	}
	if errors.Is(err, extract.ErrNoPage) {
		return err
	}
	said := p.message.b.String()
	switch {
	case errors.Is(why, errTooSlow):
		return unreadableSlow
	case errors.Is(why, errTooBig), strings.Contains(said, "out of memory"):
		return unreadableBig
	case errors.Is(err, errFrames), broke(p.err):
		e.cfg.Log.Warn("a child that read a file broke down", "err", err, "exit", p.err, "said", said)
		return unreadableBroken
	}
	return fmt.Errorf("child: %w: %w: %s", err, p.err, said)
}

// broke reports whether a child ended by itself while it read a file: it panicked, or crashed. One that says that it
// cannot begin exits with 1.
func broke(err error) bool {
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
