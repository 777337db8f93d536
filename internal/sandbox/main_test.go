package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) { sandboxtest.Main(m, tasks) }

// niceValues returns the different nice values of this process's threads, "" on systems without /proc.
func niceValues() string {
	stats, _ := filepath.Glob("/proc/self/task/*/stat")
	var values []string
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // The thread has ended.
		}
		// proc_pid_stat(5): nice is the field 19; the name, in parentheses, is the second.
		values = append(values, strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[16])
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), " ")
}

// tasks are an echo, which uses its input only as a mark of its process, a file that is refused, and a trusted task
// that writes its priority to a file.
var tasks = map[string]sandbox.Task{
	"echo": {Run: func(_ context.Context, c *sandbox.Child) error {
		content, err := c.Content(1 << 20)
		if err != nil {
			return err
		}
		return c.Answer(content, nil)
	}},
	"refuse": {Run: func(_ context.Context, c *sandbox.Child) error { return c.End(encrypted) }},
	"write": {Trusted: true, Run: func(_ context.Context, c *sandbox.Child) error {
		return os.WriteFile(c.Path(0)+"/written", []byte(niceValues()), 0o600)
	}},
	"fail": {Trusted: true, Run: func(context.Context, *sandbox.Child) error { return os.ErrInvalid }},
	"inherit": {Run: func(_ context.Context, c *sandbox.Child) error {
		var i int
		if err := c.Input(&i); err != nil {
			return err
		}
		content := make([]byte, 100)
		n, err := c.File(i).ReadAt(content, 0)
		if n == 0 {
			return err
		}
		return c.Answer(content[:n], nil)
	}},
}
