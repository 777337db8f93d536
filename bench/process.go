package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a measured server.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	logs  *os.File
	grace time.Duration // Time limit for the exit after the signal.
}

// startProcess starts a program that logs to a file in dir. The process is ended by stop, or when ctx ends.
func startProcess(ctx context.Context, dir, name string, environ []string, program string, args ...string) (*process,
	error,
) {
	logs, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	//nolint:gosec // Our own programs.
	p := &process{cmd: exec.CommandContext(ctx, program, args...), logs: logs, grace: 40 * time.Second}
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stderr = logs
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 15 * time.Second
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.in, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, logs.Close())
	}
	p.out = bufio.NewScanner(out)
	return p, nil
}

// await reads the program's output up to a line that matches, and returns its first group.
func (p *process) await(pattern string) (string, error) {
	want := regexp.MustCompile(pattern)
	for p.out.Scan() {
		if match := want.FindStringSubmatch(p.out.Text()); match != nil {
			return match[1], nil
		}
	}
	logs, _ := os.ReadFile(p.logs.Name())
	return "", fmt.Errorf("%s ended: %s", filepath.Base(p.cmd.Path), logs)
}

// drain discards the rest of the output, so that the program does not block on writing. It starts a goroutine that ends
// with the program.
func (p *process) drain() {
	go func() {
		for p.out.Scan() {
			continue
		}
	}()
}

// stop sends the program a signal and waits for its exit. After p.grace it kills the program, because some systems hang
// after a client has stalled.
func (p *process) stop() {
	_ = p.in.Close()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(p.grace, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_ = p.cmd.Wait() // Returns an error, because a signal ended the program.
	_ = p.logs.Close()
}

// cpu returns the process's CPU time in user and kernel mode. It reads the CPU clock, because /proc has a resolution of
// 10 ms.
func (p *process) cpu() (time.Duration, error) {
	var at unix.Timespec
	clock := ^p.cmd.Process.Pid<<3 | 2                           // The formula of clock_getcpuclockid.
	if err := unix.ClockGettime(int32(clock), &at); err != nil { //nolint:gosec // A process id has 22 bits at most.
		return 0, fmt.Errorf("the CPU clock of process %d: %w", p.cmd.Process.Pid, err)
	}
	return time.Duration(at.Nano()), nil
}

// childrenCPU returns the CPU time of the process's running and ended descendants, such as the embedded PostgreSQL. Its resolution is 10 ms.
func (p *process) childrenCPU() (time.Duration, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	type entry struct {
		parent int
		ticks  int64
	}
	entries := make(map[int]entry, len(stats))
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // The process has ended.
		}
		id, rest, _ := strings.Cut(string(text), " (")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
		var e entry
		pid, err := strconv.Atoi(id)
		if err == nil {
			e.parent, err = strconv.Atoi(fields[1])
		}
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime.
			ticks, wrong := strconv.ParseInt(field, 10, 64)
			e.ticks, err = e.ticks+ticks, errors.Join(err, wrong)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		entries[pid] = e
	}
	var ticks int64
	for _, e := range entries {
		ancestor := e.parent
		for ancestor != 0 && ancestor != p.cmd.Process.Pid {
			ancestor = entries[ancestor].parent
		}
		if ancestor != 0 {
			ticks += e.ticks
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// memory returns the process's resident memory in KiB.
func (p *process) memory() (float64, error) { return memoryOf(p.cmd.Process.Pid) }

func memoryOf(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	match := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if match == nil {
		return 0, fmt.Errorf("cannot read /proc/%d/status", pid)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}

// system is the load generator's connection to a hub in a child process.
type system struct {
	*process
	name    string
	address string
	streams int
}

// startSystem starts this program as a child process that runs a hub, and opens streams.
func startSystem(ctx context.Context, b *bench, of spec, streams int) (*system, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, b.dir, "peer", nil, self, "peer", string(text))
	if err != nil {
		return nil, err
	}
	p.grace = 5 * time.Second
	s := &system{process: p, name: of.Name, streams: streams}
	hello, err := s.answer()
	if err == nil {
		s.address = hello.Address
		_, err = s.tell(order{Op: "open", Streams: streams})
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// tell sends an order, waits until it is executed and returns the reply.
func (s *system) tell(o order) (reply, error) {
	line, err := json.Marshal(o)
	if err != nil {
		return reply{}, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return reply{}, err
	}
	return s.answer()
}

func (s *system) answer() (reply, error) {
	var r reply
	if !s.out.Scan() {
		logs, _ := os.ReadFile(s.logs.Name())
		return r, fmt.Errorf("%s ended: %s", s.name, logs)
	}
	return r, json.Unmarshal(s.out.Bytes(), &r)
}

// settle is the pause after clients have connected. It is needed because go-sse does not report subscriptions.
const settle = 150 * time.Millisecond

// awaitSessions waits until n clients are connected.
func (s *system) awaitSessions(ctx context.Context, n int) error {
	for {
		r, err := s.tell(order{Op: "sessions"})
		if err != nil {
			return err
		}
		pause := 5 * time.Millisecond
		if r.Sessions >= n {
			pause = settle
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.Sessions >= n {
			return nil
		}
	}
}
