package system_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// readers returns the ids of the child processes that read files with an extension for the server.
func readers(server int, extension string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		line, _ := os.ReadFile(file)
		if !bytes.HasPrefix(line, []byte("tsumugi\x00extract\x00")) || !bytes.Contains(line, []byte(extension+`"`)) {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(server) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// readingRig is a server that reads a slow file and, concurrently, other files.
type readingRig struct {
	*single
	tab    *liveSocket
	slow   dataSource
	others []dataSource
	alone  time.Duration // The reading time of a file like slow on this machine.
}

const otherFiles = 5

// newReadingRig uploads all files and returns the process that reads the slow one.
func newReadingRig(ctx context.Context, t *testing.T) (*readingRig, int) {
	t.Helper()
	r := &readingRig{single: newSingle(t)}
	began := time.Now()
	first := must.Get(r.upload(ctx, r.url(), "前年度.tsv", slowFile(0)))(t)
	r.awaitRead(ctx, t, first)
	r.alone = time.Since(began)
	r.tab = r.listen(ctx, t, r.url())
	child := r.uploadSlow(ctx, t)
	must.Succeed(t, syscall.Kill(child, syscall.SIGSTOP)) // Otherwise it may end before the test has uploaded the other files.
	for i := range otherFiles {
		source := must.Get(r.upload(ctx, r.url(), fmt.Sprintf("%d.txt", i), []byte(strings.Repeat("本文", i+1))))(t)
		r.others = append(r.others, source)
	}
	return r, child
}

// uploadSlow uploads a slow file and returns the process that reads it. On a busy machine the reading may end before
// this function finds the process. It then uploads another slow file.
func (r *readingRig) uploadSlow(ctx context.Context, t *testing.T) (child int) {
	t.Helper()
	for n := 1; child == 0; n++ {
		slow := must.Get(r.upload(ctx, r.url(), "今年度.tsv", slowFile(n)))(t)
		r.slow = slow
		await(t, "the slow file is read", waitLimit, func() bool {
			for _, pid := range readers(r.running().PID(), ".tsv") {
				child = pid
				return true
			}
			list := must.Get(r.sources(ctx, r.url()))(t)
			return list[slow.ID].Status == "success"
		})
	}
	return child
}

// awaitRead waits until the server has read the data sources.
func (r *readingRig) awaitRead(ctx context.Context, t *testing.T, sources ...dataSource) {
	t.Helper()
	await(t, "the files are read", waitLimit, func() bool {
		list, err := r.sources(ctx, r.url())
		for _, s := range sources {
			if status := list[s.ID].Status; err != nil || status == "pending" || status == "running" {
				return false
			} else if status != "success" || list[s.ID].ChunkCount == 0 {
				t.Fatalf("%s: %+v", s.Filename, list[s.ID])
			}
		}
		return true
	})
}

// awaitAllRead waits until the server has read all files. The limit is 15 s plus three times the reading time of the
// slow file.
func (r *readingRig) awaitAllRead(ctx context.Context, t *testing.T, killed time.Time) {
	t.Helper()
	r.awaitRead(ctx, t, append(r.others, r.slow)...)
	took := time.Since(killed)
	t.Logf("all was read %v after the kill; a file takes %v alone", took.Round(time.Millisecond),
		r.alone.Round(time.Millisecond))
	if limit := 15*time.Second + 3*r.alone; took > limit {
		t.Errorf("all was read %v after the kill, want %v", took, limit)
	}
}

// TestR79_KilledChild kills the child process that reads the slow file. The server reads that file again, and no file
// is reported as read more than once.
func TestR79_KilledChild(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	r, child := newReadingRig(ctx, t)
	must.Succeed(t, syscall.Kill(child, syscall.SIGKILL))
	killed := time.Now()
	r.awaitAllRead(ctx, t, killed)
	succeeded := make(map[string]int)
	for len(succeeded) < otherFiles+1 {
		source := r.tab.next(ctx, t).DataSource
		if source == nil || source.Filename == r.slow.Filename && source.ID != r.slow.ID {
			continue
		}
		switch source.Status {
		case "success":
			succeeded[source.ID]++
		case "failed":
			t.Errorf("event %+v", source)
		}
	}
	for id, n := range succeeded {
		if n != 1 {
			t.Errorf("%s: %d events of success", id, n)
		}
	}
}

// TestR79_RestartedServerReadsAllFiles kills the server, which also ends its child process. After a restart the server
// reads all files.
func TestR79_RestartedServerReadsAllFiles(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	r, child := newReadingRig(ctx, t)
	r.running().Kill()
	killed := time.Now()
	await(t, "the child is gone", waitLimit, func() bool {
		return syscall.Kill(child, 0) != nil
	})
	r.restart(t)
	r.client = signIn(t, r.url())
	r.awaitAllRead(ctx, t, killed)
}
