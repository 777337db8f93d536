package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout bounds the start of a server, including the creation of its database, and of the NATS nodes, including
// the election of a leader.
const startTimeout = 3 * time.Minute

// ProcessConfig configures a server process.
type ProcessConfig struct {
	Program string   // The built program.
	Listen  string   // Address and port.
	Data    string   // Data folder.
	Log     string   // File to which the log is appended.
	Environ []string // Complete environment, as for exec.Cmd.
}

// Process is one running server. It is safe for concurrent use.
type Process struct {
	cfg    ProcessConfig
	cmd    *exec.Cmd
	log    *os.File
	out    *welcome
	exited chan struct{} // Closed when the process has exited.
	term   sync.Once     // Sends one SIGTERM only, because a second one ends the process without a graceful stop.
}

// Launch starts a server and returns when it accepts traffic. ctx bounds the start only. The caller must call Kill or
// Stop.
func Launch(ctx context.Context, cfg ProcessConfig) (*Process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	log, err := os.OpenFile(cfg.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p := &Process{cfg: cfg, log: log, out: &welcome{complete: make(chan struct{})}, exited: make(chan struct{})}
	//nolint:gosec,noctx // It outlives the start.
	p.cmd = exec.Command(cfg.Program, "serve", "--listen="+cfg.Listen, "--data="+cfg.Data)
	p.cmd.Env = cfg.Environ
	p.cmd.Stdout, p.cmd.Stderr = p.out, log
	p.cmd.SysProcAttr = attributes()
	p.cmd.WaitDelay = time.Second
	started := make(chan error, 1)
	go p.run(started) //nolint:contextcheck // It runs until the process exits.
	if err := <-started; err != nil {
		return nil, err
	}
	select {
	case <-p.out.complete:
		return p, p.awaitReady(ctx)
	case <-p.exited:
		return nil, fmt.Errorf("the server at %s did not start: %s", cfg.Listen, p.logTail())
	case <-ctx.Done():
		p.Kill()
		return nil, fmt.Errorf("the server at %s did not start in time: %s", cfg.Listen, p.logTail())
	}
}

// run starts the process and waits until it exits. It locks its thread, because the kernel kills the process when the
// thread that started it ends.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // ProcessState has the result.
	}
	_ = p.log.Close()
	close(p.exited)
}

// awaitReady waits until the server reports that it is ready.
func (p *Process) awaitReady(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if status, _ := probe(ctx, client, p.cfg.Listen); status == http.StatusOK {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			return fmt.Errorf("the server at %s ended: %s", p.cfg.Listen, p.logTail())
		case <-ctx.Done():
			p.Kill()
			return fmt.Errorf("the server at %s is not ready: %s", p.cfg.Listen, p.logTail())
		}
	}
}

// probe requests a server's readiness check and returns the HTTP status.
func probe(ctx context.Context, client *http.Client, address string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

// URL returns the server's own address, with http://.
func (p *Process) URL() string { return "http://" + p.cfg.Listen }

// PID returns the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Welcome returns the server's message to the person who started it.
func (p *Process) Welcome() string { return p.out.String() }

// Exited returns a channel that is closed when the process has exited.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitReason describes how the process ended. Call it only after Exited is closed.
func (p *Process) ExitReason() string { return p.cmd.ProcessState.String() }

// Kill kills the process and waits until it has exited.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// Term sends SIGTERM to the process and does not wait.
func (p *Process) Term() { p.term.Do(func() { p.signal(syscall.SIGTERM) }) }

// Stop sends SIGTERM to the process and waits until it has exited. It kills the process when ctx ends. It returns an
// error unless the process exited with status 0.
func (p *Process) Stop(ctx context.Context) error {
	p.Term()
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("the server at %s did not stop: %w", p.cfg.Listen, context.Cause(ctx))
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("the server at %s: %s: %s", p.cfg.Listen, p.ExitReason(), p.logTail())
	}
	return nil
}

// Pause suspends the process with SIGSTOP. Its connections stay open.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // Exited reports a process that has ended.

// logTail returns the end of the log.
func (p *Process) logTail() string {
	text, _ := os.ReadFile(p.cfg.Log)
	const most = 2 << 10
	return string(bytes.TrimSpace(text[max(0, len(text)-most):]))
}

// welcome stores the text that a server prints when it has started, and discards later output.
type welcome struct {
	mu       sync.Mutex      // Guards text.
	text     strings.Builder // Until it is complete.
	complete chan struct{}   // Closed when the last line, with the way to stop the server, has been read.
}

func (w *welcome) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.complete:
		return len(p), nil
	default:
	}
	w.text.Write(p)
	if strings.Contains(w.text.String(), "Ctrl-C") {
		close(w.complete)
	}
	return len(p), nil
}

func (w *welcome) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
