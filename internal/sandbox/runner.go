package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Command is the program's command that calls Main with the next argument.
const Command = "extract"

// Config contains the limits of a child. A zero field means its default. A time limit is exceeded when both the elapsed
// time and the child's CPU time exceed it.
type Config struct {
	Whole  time.Duration // For a child to start, and for a file that is read at once. Default 1 min.
	Total  time.Duration // For the whole job. Default 10 min.
	Memory int64         // Resident memory, in bytes. Default 512 MiB.
	Log    *slog.Logger  // Default: none.
}

func (c Config) withDefaults() Config {
	if c.Whole <= 0 {
		c.Whole = time.Minute
	}
	if c.Total <= 0 {
		c.Total = 10 * time.Minute
	}
	if c.Memory <= 0 {
		c.Memory = 512 << 20
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Errors for a file whose child was killed or has crashed.
var (
	ErrTooSlow  = errors.New("sandbox: time limit exceeded")
	ErrTooLarge = errors.New("sandbox: memory limit exceeded")
	ErrCrashed  = errors.New("sandbox: child crashed")
)

// Runner runs each job in a separate child process. It is safe for concurrent use.
type Runner struct{ cfg Config }

// New returns a Runner. The program must call Main when its command is Command.
func New(cfg Config) *Runner { return &Runner{cfg.withDefaults()} }

// Whole returns the time limit for a child to start, and for a file that is read at once.
func (r *Runner) Whole() time.Duration { return r.cfg.Whole }

// Job is a job for a child.
type Job struct {
	Task  string        // The key of a Task.
	Input any           // Parameters, encoded as JSON. See Child.Input.
	Files []string      // Paths of files and folders that the child inherits. See Child.File.
	CPU   time.Duration // CPU limit. Default: the total time limit on two cores.
}

// argument is the argument of a child as JSON.
type argument struct {
	Task  string          `json:"task"`
	CPU   uint64          `json:"cpu"` // Limit, in seconds.
	Input json.RawMessage `json:"input,omitempty"`
}

// Run starts a child for a job that reads a file, and calls receive to handle its output. The error is a
// *fault.UnreadableError if the file cannot be read, and ErrTooSlow, ErrTooLarge or ErrCrashed if the file caused the
// end of its child. Errors of receive, file and ctx are returned unchanged. Any other error is unrelated to the file:
// the child was killed from outside, could not start, or was stopped because it got almost no CPU time (a
// context.DeadlineExceeded).
func (r *Runner) Run(ctx context.Context, job Job, file io.Reader, receive func(*Process) error) error {
	p, err := r.startJob(ctx, job, file, false)
	if err != nil {
		return err
	}
	defer p.stop()
	switch err := receive(p); {
	case err == nil:
		p.stop()
		return p.source.err
	case p.failure == nil: // The error is unrelated to the child.
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return r.explain(p, job)
}

// RunTrusted runs a job that reads no file: its task is trusted. It has only a CPU limit.
func (r *Runner) RunTrusted(ctx context.Context, job Job) error {
	p, err := r.startJob(ctx, job, strings.NewReader(""), true)
	if err != nil {
		return err
	}
	defer p.stop()
	_, err = io.Copy(io.Discard, p.out)
	<-p.ended
	err = errors.Join(err, p.err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("sandbox: task %s: %w: %s", job.Task, err, p.message.b.String())
}

// startJob starts a child for a job. The caller must call stop.
func (r *Runner) startJob(ctx context.Context, job Job, file io.Reader, trusted bool) (*Process, error) {
	files, err := openAll(job.Files)
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	if job.CPU <= 0 {
		job.CPU = 2 * r.cfg.Total
	}
	a := argument{Task: job.Task, CPU: uint64(job.CPU / time.Second)} //nolint:gosec // Positive.
	if job.Input != nil {
		if a.Input, err = json.Marshal(job.Input); err != nil {
			return nil, err
		}
	}
	encoded, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return r.start(ctx, []string{Command, string(encoded)}, file, files, trusted)
}

// openAll opens the files that a child inherits.
func openAll(paths []string) (files []*os.File, _ error) {
	for _, path := range paths {
		f, err := os.Open(path) //nolint:gosec // The operator's.
		if err != nil {
			closeAll(files)
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// explain returns the error of a job whose child ended early or broke the protocol.
func (r *Runner) explain(p *Process, job Job) error {
	err := p.failure
	if errors.Is(err, io.ErrUnexpectedEOF) {
		select { // Wait for its exit status.
		case <-p.ended:
		case <-time.After(pipeTimeout):
			err = fmt.Errorf("%w: %w before the child's", ErrMalformed, err)
		}
	}
	why := context.Cause(p.ctx)
	p.stop()
	if p.source.err != nil {
		return p.source.err
	}
	if wrong, ok := errors.AsType[*fault.UnreadableError](err); ok {
		return wrong
	}
	said := p.message.b.String()
	switch {
	case errors.Is(why, ErrTooSlow):
		return ErrTooSlow
	case errors.Is(why, errStalled):
		return errStalled
	case errors.Is(why, ErrTooLarge), strings.Contains(said, "out of memory"):
		return ErrTooLarge
	case errors.Is(err, ErrMalformed), crashed(p.err):
		r.cfg.Log.Warn("sandbox: child crashed", "task", job.Task, "err", err, "exit", p.err, "said", said)
		return ErrCrashed
	}
	return fmt.Errorf("sandbox: %w: %w: %s", err, p.err, said)
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
