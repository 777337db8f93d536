package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Reasons to kill a child, in addition to ErrTooSlow and ErrTooLarge.
var (
	errStalled = fmt.Errorf("sandbox: starved of CPU time: %w", context.DeadlineExceeded)
	errStopped = errors.New("sandbox: stopped by its parent")
)

const (
	watchInterval = 20 * time.Millisecond
	pipeTimeout   = time.Second // For reading the pipes of a dead child.
	maxMessage    = 4 << 10     // Bytes of a child's standard error.

	// A child is killed after stallFactor times its time limit, regardless of its CPU time.
	stallFactor = 10
)

// Process is a running child. It is not safe for concurrent use, except for watch.
type Process struct {
	cmd     *exec.Cmd
	out     *os.File // Its standard output.
	frames  *Reader  // Reads out.
	failure error    // Error of Receive.
	message message
	source  source
	ctx     context.Context // Canceled with the reason as its cause.
	cancel  context.CancelCauseFunc
	watcher sync.WaitGroup
	ended   chan struct{} // Closed after exec.Cmd.Wait.
	err     error         // Result of exec.Cmd.Wait. Set before ended is closed.

	limit atomic.Int64 // Time limit for the next frame, in nanoseconds.
	since atomic.Int64 // Start of the limit in Unix nanoseconds; 0 while no frame is expected.
}

// start starts a child. The caller must call stop. A trusted child reads no file and has only a CPU limit.
func (r *Runner) start(ctx context.Context, arguments []string, file io.Reader, files []*os.File, trusted bool) (
	*Process, error,
) {
	program, err := executable()
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p := &Process{
		out: out, frames: NewReader(out), ctx: ctx, cancel: cancel, source: source{Reader: file},
		ended: make(chan struct{}),
	}
	p.cmd = exec.CommandContext(ctx, program, arguments...) //nolint:gosec // The same executable.
	p.cmd.Args[0] = "tsumugi"
	// Do not pass the secrets of the server.
	p.cmd.Env = []string{"GOTRACEBACK=single"}
	if !trusted {
		p.cmd.Env = append(p.cmd.Env, fmt.Sprintf("GOMEMLIMIT=%d", r.cfg.Memory*3/4))
	}
	p.cmd.Dir = "/"
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = &p.source, in, &p.message
	p.cmd.ExtraFiles = files
	p.cmd.SysProcAttr = attributes(trusted)
	p.cmd.Cancel = func() error { return killGroup(p.cmd.Process.Pid) }
	p.cmd.WaitDelay = pipeTimeout
	started := make(chan error, 1)
	go func() {
		defer close(p.ended)
		// The kernel kills a child when the thread that started it ends, and the child inherits the thread's
		// privileges. The thread therefore remains locked and ends with the goroutine.
		runtime.LockOSThread()
		err := giveUpPrivileges()
		if err == nil {
			err = p.cmd.Start()
		}
		_ = in.Close()
		started <- err
		if err != nil {
			return
		}
		p.err = p.cmd.Wait()
	}()
	if err := <-started; err != nil {
		cancel(nil)
		<-p.ended
		_ = out.Close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if !trusted {
		p.watcher.Go(func() { r.watch(p) })
	}
	return p, nil
}

// watch kills a child when it exceeds a limit. A time limit is exceeded only if the CPU time exceeds it too, so that a
// busy machine or a slow upload does not cause the refusal of a file.
func (r *Runner) watch(p *Process) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	whole := newStopwatch(time.Now(), 0)
	frame := whole
	for since := int64(0); ; {
		select {
		case <-p.ended:
			return
		case now := <-tick.C:
			if memory(p.cmd.Process.Pid) > r.cfg.Memory {
				p.cancel(ErrTooLarge)
			}
			used := cpuTime(p.cmd.Process.Pid, now.Sub(whole.began))
			err := whole.check(now, used, r.cfg.Total)
			if current := p.since.Load(); current != since {
				since, frame = current, newStopwatch(now, used)
			}
			if since != 0 && err == nil {
				err = frame.check(now, used, time.Duration(p.limit.Load()))
			}
			if err != nil {
				p.cancel(err)
			}
		}
	}
}

// stopwatch measures the elapsed time and the CPU time of a child.
type stopwatch struct {
	began time.Time
	used  time.Duration // CPU time of the child at that time.
}

func newStopwatch(now time.Time, used time.Duration) stopwatch {
	return stopwatch{began: now, used: used}
}

// check returns ErrTooSlow if both times exceed limit, and errStalled if the time exceeds stallFactor times limit.
func (s stopwatch) check(now time.Time, used, limit time.Duration) error {
	switch took := now.Sub(s.began); {
	case took > limit && used-s.used > limit:
		return ErrTooSlow
	case took > stallFactor*limit:
		return errStalled
	}
	return nil
}

// Receive calls read to read frames of the child, and kills the child if this exceeds a time limit. It returns the error
// of read. The callback of Run must return this error too.
func (p *Process) Receive(within time.Duration, read func(*Reader) error) error {
	p.limit.Store(int64(within))
	p.since.Store(time.Now().UnixNano())
	err := read(p.frames)
	p.since.Store(0)
	if err != nil && !errors.Is(err, io.EOF) {
		p.failure = err
	}
	return err
}

// stop kills the child if it is running, and waits for it.
func (p *Process) stop() {
	p.cancel(errStopped)
	_ = p.out.Close()
	<-p.ended
	p.watcher.Wait()
}

// executable returns the path of this program, even after its file was replaced.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// source is the file for the child. It stores a read error, so that the file is not treated as truncated. err may be
// read only after the child has ended.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// message stores the first maxMessage bytes written to it.
type message struct{ b strings.Builder }

func (m *message) Write(p []byte) (int, error) {
	m.b.Write(p[:min(len(p), maxMessage-m.b.Len())])
	return len(p), nil
}
