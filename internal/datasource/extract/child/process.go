package child

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

// What ends a child.
var (
	errTooSlow  = errors.New("child: takes too long")
	errTooBig   = errors.New("child: takes too much memory")
	errHeardOut = errors.New("child: its parent reads no further")
)

const (
	watchInterval = 20 * time.Millisecond
	endPatience   = time.Second // For the pipes of a child that is dead.
	maxMessage    = 4 << 10     // Of what a child says on its standard error, in bytes.
)

// process is a child that runs. It is used by one goroutine, watch aside.
type process struct {
	cmd     *exec.Cmd
	out     *os.File // What it writes.
	message message
	source  source
	ctx     context.Context // Ends with its cause.
	cancel  context.CancelCauseFunc
	watcher sync.WaitGroup
	ended   chan struct{} // Closed once it is dead and waited for.
	err     error         // As exec.Cmd.Wait says it. Set before ended is closed.

	patience atomic.Int64 // How long its next frame may take, in nanoseconds,
	since    atomic.Int64 // and since when it has been waited for, in Unix nanoseconds; 0 while nobody waits.
}

// start starts a child. stop must be called.
func (e *Extractor) start(ctx context.Context, arguments []string, file io.Reader, files []*os.File,
	privileged bool,
) (*process, error) {
	program, err := executable()
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p := &process{out: out, ctx: ctx, cancel: cancel, source: source{Reader: file}, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, program, arguments...) //nolint:gosec // This very program.
	p.cmd.Args[0] = "tsumugi"
	// Nothing of ours: no secrets.
	p.cmd.Env = []string{fmt.Sprintf("GOMEMLIMIT=%d", e.cfg.Memory*3/4), "GOTRACEBACK=single"}
	p.cmd.Dir = "/"
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = &p.source, in, &p.message
	p.cmd.ExtraFiles = files
	p.cmd.SysProcAttr = attributes(privileged)
	p.cmd.Cancel = func() error { return killGroup(p.cmd.Process.Pid) }
	p.cmd.WaitDelay = endPatience
	started := make(chan error, 1)
	go func() {
		defer close(p.ended)
		// A child dies with the thread that has started it, and inherits what that thread has given up: the thread is
		// its own, and goes with it.
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
		return nil, fmt.Errorf("child: %w", err)
	}
	p.watcher.Go(func() { e.watch(p) })
	return p, nil
}

// watch ends a child at its limits.
func (e *Extractor) watch(p *process) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	end := time.Now().Add(e.cfg.Total)
	for {
		select {
		case <-p.ended:
			return
		case now := <-tick.C:
			since := p.since.Load()
			switch {
			case memory(p.cmd.Process.Pid) > e.cfg.Memory:
				p.cancel(errTooBig)
			case now.After(end), since != 0 && now.UnixNano()-since > p.patience.Load():
				p.cancel(errTooSlow)
			}
		}
	}
}

// expect has the next frame come within a time.
func (p *process) expect(within time.Duration) {
	p.patience.Store(int64(within))
	p.since.Store(time.Now().UnixNano())
}

// received ends what expect began.
func (p *process) received() { p.since.Store(0) }

// stop ends the child if it runs, and waits for it.
func (p *process) stop() {
	p.cancel(errHeardOut)
	_ = p.out.Close()
	<-p.ended
	p.watcher.Wait()
}

// executable returns the path of this program, even if another one stands there by now.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// source is the file that a child is given. It remembers why reading it failed, so that a file cut off by that is not
// taken for a damaged one. err is read once the child is over.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// message keeps the beginning of what is written to it.
type message struct{ b strings.Builder }

// Write implements io.Writer.
func (m *message) Write(p []byte) (int, error) {
	m.b.Write(p[:min(len(p), maxMessage-m.b.Len())])
	return len(p), nil
}
