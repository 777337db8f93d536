// Package sandboxtest runs tests that start child processes.
package sandboxtest

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/test/leak"
)

// Main is the TestMain of a package whose tests run jobs. It also runs as the child, with the given tasks. The child
// misbehaves in the way named in the file after the word "misbehave".
func Main(m *testing.M, tasks map[string]sandbox.Task) {
	if len(os.Args) != 3 || os.Args[1] != sandbox.Command {
		leak.Main(m)
		return
	}
	in := &mischief{r: os.Stdin}
	if err := sandbox.Main(context.Background(), os.Args[2], in, os.Stdout, tasks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type mischief struct{ r io.Reader }

func (m *mischief) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	how, found := strings.CutPrefix(string(p[:n]), "misbehave ")
	if !found {
		return n, err
	}
	switch how {
	case "sleep":
		time.Sleep(time.Hour)
	case "spin":
		for range math.MaxInt {
		}
	case "eat":
		eaten := []byte{1}
		for {
			eaten = append(eaten, eaten...)
		}
	case "flood":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("s\x00\x00\x00\x02{}", 1000)); err != nil {
				time.Sleep(time.Hour)
			}
		}
	case "panic":
		panic("as it was told")
	case "hang up":
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "write":
		if err := os.WriteFile("/tmp/tsumugi-child-test", []byte("a"), 0o600); err == nil { //nolint:gosec // It must fail.
			return 0, fmt.Errorf("it could write a file")
		}
	case "tell":
		return copy(p, fmt.Sprintf("uid=%d env=%v %s", os.Getuid(), os.Environ(), status())), io.EOF
	}
	return n, err
}

func status() string {
	b, _ := os.ReadFile("/proc/self/status")
	_, privileges, _ := strings.Cut(string(b), "NoNewPrivs:\t")
	return "no new privileges: " + privileges[:1]
}
