package system_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// parallel is the number of tests that run at the same time. Tests spend most of their time waiting.
const parallel = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", parallel)
	}
	code := m.Run()
	if err := errors.Join(built.remove(), seed.remove()); err != nil {
		fmt.Println("system:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// built is the program under test. It is a global variable because TestMain and all tests share it.
var built program

// program builds the program under test when the first test needs it. It builds without the race detector, because some
// tests measure times. TSUMUGI_TEST_PROGRAM names an existing program to use instead.
type program struct {
	once sync.Once
	dir  string // The build folder.
	err  error
}

func (p *program) path(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TSUMUGI_TEST_PROGRAM"); path != "" {
		return path
	}
	p.once.Do(func() { p.err = p.build() })
	if p.err != nil {
		t.Fatal(p.err)
	}
	return filepath.Join(p.dir, "tsumugi")
}

func (p *program) build() error {
	dir, err := os.MkdirTemp("", "tsumugi-system-*")
	if err != nil {
		return err
	}
	p.dir = dir
	cmd := exec.CommandContext(context.Background(), "go", "build", "-o", filepath.Join(dir, "tsumugi"),
		"../../cmd/tsumugi")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(strings.TrimSpace(string(out))))
	}
	return nil
}

func (p *program) remove() error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}
