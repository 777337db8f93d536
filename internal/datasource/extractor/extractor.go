package extractor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// Config configures an Extractor. A zero field means its default.
type Config struct {
	// Time limit for opening a file that is read page by page, and for each of its pages. Default 5 s. Other limits are
	// those of sandbox.Config.
	Page time.Duration
	// Path of a font with Japanese characters, for files that do not embed theirs. Default: those files are refused.
	Font string
	// Folder for compiled code, created if it does not exist. Several servers may share it. Default: each child
	// compiles, which takes seconds.
	Cache string
}

// Errors for a file whose child was killed or has crashed.
var (
	unreadableSlow = &fault.UnreadableError{Code: fault.FileTooLarge, Reason: "読み取りに時間がかかりすぎるため、中止しました。" +
		"ファイルを分けるか、図を減らして保存し直してから、もう一度アップロードしてください。"}
	unreadableBig = &fault.UnreadableError{Code: fault.FileTooLarge, Reason: "ファイルが大きく複雑なため、読み取れませんでした。" +
		"ファイルを分けるか、図を減らして保存し直してから、もう一度アップロードしてください。"}
	unreadableBroken = &fault.UnreadableError{Code: fault.FileCorrupt, Reason: "ファイルが壊れているか、特殊な作りのため、読み取れませんでした。" +
		"元のアプリで保存し直してから、もう一度アップロードしてください。"}
)

// Extractor extracts each file in a separate child process. It is safe for concurrent use.
type Extractor struct {
	runner *sandbox.Runner
	cfg    Config

	compiling chan struct{} // Holds a value during compilation.
	compiled  atomic.Bool
}

// New returns an Extractor whose children run in a sandbox. The sandbox's Main must have Tasks.
func New(runner *sandbox.Runner, cfg Config) *Extractor {
	if cfg.Page <= 0 {
		cfg.Page = 5 * time.Second
	}
	return &Extractor{runner: runner, cfg: cfg, compiling: make(chan struct{}, 1)}
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
// number of pages, or 0 while it is unknown. The error is a *fault.UnreadableError if the file cannot be read, or if
// its child crashed or exceeded a limit. Other errors are those of sandbox.Runner.Run.
func (e *Extractor) Extract(ctx context.Context, filename string, file io.Reader,
	page func(p extract.Page, total int) error,
) error {
	format, ok := extract.FormatOf(filename)
	if !ok {
		return fmt.Errorf("extractor: no format for a file *%s", path.Ext(filename))
	}
	in := input{Name: "a" + path.Ext(filename)}
	if format.IsPaged() {
		if err := e.compile(ctx); err != nil {
			return err
		}
		in.Cache = e.cfg.Cache != ""
	}
	return e.run(ctx, taskRead, in, file, func(p *sandbox.Process) error {
		var pages pageReader
		for within := e.runner.Whole(); ; {
			var got extract.Page
			var total int
			err := p.Receive(within, func(frames *sandbox.Reader) (err error) {
				got, total, err = pages.next(frames)
				return err
			})
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if got.Number > 0 {
				if err := page(got, total); err != nil {
					return err
				}
			}
			if format.IsPaged() {
				within = e.cfg.Page
			}
		}
	})
}

// run runs a task in a child.
func (e *Extractor) run(ctx context.Context, task string, in input, file io.Reader,
	receive func(*sandbox.Process) error,
) error {
	job := sandbox.Job{Task: task}
	if in.Font = e.cfg.Font != ""; in.Font {
		job.Files = append(job.Files, e.cfg.Font)
	}
	if in.Cache {
		job.Files = append(job.Files, e.cfg.Cache)
	}
	job.Input = in
	switch err := e.runner.Run(ctx, job, file, receive); {
	case errors.Is(err, sandbox.ErrTooSlow):
		return unreadableSlow
	case errors.Is(err, sandbox.ErrTooLarge):
		return unreadableBig
	case errors.Is(err, sandbox.ErrCrashed):
		return unreadableBroken
	default:
		return err
	}
}

// find runs a job with a single answer. within is the time limit after the child has received the file.
func (e *Extractor) find(ctx context.Context, task string, in input, file io.Reader, within time.Duration,
) (found []byte, _ error) {
	err := e.run(ctx, task, in, file, func(p *sandbox.Process) error {
		err := p.Receive(e.runner.Whole(), func(frames *sandbox.Reader) error {
			kind, _, err := frames.Next()
			if errors.Is(err, io.EOF) || err == nil && kind != stepFrame {
				return sandbox.Unexpected(kind)
			}
			return err
		})
		if err != nil {
			return err
		}
		return p.Receive(within, func(frames *sandbox.Reader) (err error) {
			found, err = frames.Answer()
			return err
		})
	})
	return found, err
}
