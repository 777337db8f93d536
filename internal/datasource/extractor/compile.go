package extractor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
)

// compileCPU is the CPU limit for compiling PDFium. It takes 3 s, 25 s with the race detector.
const compileCPU = time.Hour

// compile fills the cache with compiled PDFium, once, in a child that reads no file. Other children cannot write to the
// cache.
func (e *Extractor) compile(ctx context.Context) error {
	if e.cfg.Cache == "" || e.isCompiled() {
		return nil
	}
	select {
	case e.compiling <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-e.compiling }()
	if e.isCompiled() {
		return nil
	}
	if err := os.MkdirAll(e.cfg.Cache, 0o755); err != nil { //nolint:gosec // Nothing in it is secret.
		return err
	}
	job := sandbox.Job{Task: taskCompile, Files: []string{e.cfg.Cache}, CPU: compileCPU}
	if err := e.runner.RunTrusted(ctx, job); err != nil {
		return fmt.Errorf("extractor: PDFium could not be compiled: %w", err)
	}
	e.compiled.Store(true)
	// If another user owns the folder, the file cannot be written. Each server then runs one compilation, which finds
	// the code.
	_ = os.WriteFile(e.stamp(), nil, 0o644) //nolint:gosec // Nothing is in it.
	return nil
}

// isCompiled reports whether this server, or one with the same versions, has filled the cache, and the cache still
// exists.
func (e *Extractor) isCompiled() bool {
	folders, err := filepath.Glob(filepath.Join(e.cfg.Cache, "wazero-*"))
	if err != nil || len(folders) == 0 {
		return false
	}
	_, err = os.Stat(e.stamp())
	return err == nil || e.compiled.Load()
}

// stamp returns the path of the file that marks the cache as complete for the versions of PDFium and wazero and for the
// processor, on which the compiled code depends.
func (e *Extractor) stamp() string {
	name := "compiled-" + runtime.GOARCH
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/klippa-app/go-pdfium" || module.Path == "github.com/tetratelabs/wazero" {
				name += "-" + module.Version
			}
		}
	}
	return filepath.Join(e.cfg.Cache, name)
}
