package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	maxCrashes  = 5           // Consecutive crashes after which the server is not restarted.
	calm        = time.Minute // Running this long resets the count of crashes.
	readyPoll   = 3 * time.Millisecond
	quitTimeout = 5 * time.Second // Maximum time of a stop without a checkpoint.
)

// process is one run of the server's program.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // Closed when the process has ended and its log has been read.
	logs   *logReader
}

// supervise owns the server's process: it starts it, restarts it after a crash and stops it. It locks its operating
// system thread until it returns, because the kernel sends Pdeathsig when the thread that started the process ends.
func (s *Server) supervise() {
	runtime.LockOSThread()
	defer close(s.done)
	defer s.lock.release()
	defer s.cleanUp()

	started := false
	for crashes := 0; ; {
		p, err := s.launch()
		if err == nil {
			if !started {
				close(s.ready)
				started = true
			}
			since := time.Now()
			select {
			case <-s.stop:
				s.shutdown(p)
				return
			case <-p.exited:
			}
			if time.Since(since) > calm {
				crashes = 0
			}
			err = fmt.Errorf("the database server ended unexpectedly: %s", p.reason())
		}
		if s.stopping() {
			return
		}
		if crashes++; !started || crashes > maxCrashes {
			s.err = err
			return
		}
		s.log.Error("restarting the database server", "err", err, "crashes", crashes)
		if !s.pause(time.Duration(crashes-1) * 200 * time.Millisecond) {
			return
		}
	}
}

func (s *Server) stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// pause waits and reports whether to continue.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stop:
		return false
	}
}

// launch starts the server's program and returns once it accepts connections. It runs on supervise's thread.
func (s *Server) launch() (*process, error) {
	if err := s.clearLeftovers(); err != nil {
		return nil, err
	}
	p, err := s.spawn()
	if err != nil {
		return nil, err
	}
	if err := s.lock.note(p.cmd.Process.Pid); err != nil {
		s.log.Warn("the lock file cannot be written", "err", err)
	}
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	limit := time.NewTimer(s.cfg.StartTimeout)
	defer limit.Stop()
	for {
		select {
		case <-tick.C:
			// The pid is compared, because the file may be from the previous process.
			if f := s.folder.readPID(); f.ready && f.pid == p.cmd.Process.Pid {
				p.logs.settled()
				return p, nil
			}
		case <-p.exited:
			return nil, fmt.Errorf("the database server did not start: %s", p.reason())
		case <-limit.C:
			s.shutdown(p)
			return nil, fmt.Errorf("the database server was not ready after %s", s.cfg.StartTimeout)
		case <-s.stop:
			s.shutdown(p)
			return nil, errors.New("the database server was stopped while it started")
		}
	}
}

// spawn starts the program with its output connected to the log.
func (s *Server) spawn() (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{exited: make(chan struct{}), logs: newLogReader(r, s.log)}
	//nolint:gosec,noctx // Our own program, which shutdown ends.
	p.cmd = exec.Command(s.programs.path("postgres"), s.arguments()...)
	p.cmd.Dir = "/"
	p.cmd.Env = environment()
	p.cmd.Stdout, p.cmd.Stderr = w, w
	p.cmd.SysProcAttr = serverAttributes(s.account)
	err = p.cmd.Start()
	_ = w.Close() // The child has its own copy.
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("the database server does not start: %w", err)
	}
	go p.watch()
	return p, nil
}

// watch waits for the end of the process and its log. Its owner is supervise, which always waits for watch.
func (p *process) watch() {
	defer close(p.exited)
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.logs.run()
	}()
	_ = p.cmd.Wait() // The process state has the result.
	// Children that survive a killed server keep the pipe open. They end soon, and watch does not wait for them.
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
		p.logs.close()
		<-read
	}
	p.logs.close()
}

// reason returns the reason for the end of the process, on one line. It may be called only after exited is closed.
func (p *process) reason() string {
	if last := p.logs.lastError(); last != "" {
		return last
	}
	return p.cmd.ProcessState.String()
}

// shutdown stops the process with a checkpoint. After a timeout, it stops the process without a checkpoint, and finally
// by SIGKILL.
func (s *Server) shutdown(p *process) {
	p.logs.ending()
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.StopTimeout)
	defer cancel()
	p.signal(syscall.SIGINT)
	select {
	case <-p.exited:
		return
	case <-s.hurry:
	case <-ctx.Done():
		s.log.Warn("the database server takes too long to stop and is killed; the next start recovers it")
	}
	p.signal(syscall.SIGQUIT)
	timer := time.NewTimer(quitTimeout)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		<-p.exited
	}
}

// signal ignores the error of a process that has ended, because exited reports it.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }
