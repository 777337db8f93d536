// Package leak finds goroutines that the tests of a package have left running.
//
// It is goleak with a longer timeout: goleak waits for less than half a second, which on a busy machine is not always
// enough even for the closed connections of an HTTP client. It is for tests only.
package leak

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// waitTimeout is how long a goroutine may take to end after the last test.
const waitTimeout = 30 * time.Second

// Main runs the tests of a package, for its TestMain, and fails if goroutines are left that the options do not exclude.
func Main(m goleak.TestingM, options ...goleak.Option) {
	goleak.VerifyTestMain(patient{m, options}, options...)
}

// None fails a non-parallel test if goroutines are left that the options do not exclude.
func None(t testing.TB, options ...goleak.Option) {
	t.Helper()
	wait(options)
	goleak.VerifyNone(t, options...)
}

// patient are tests that end when no goroutine is left.
type patient struct {
	goleak.TestingM
	options []goleak.Option
}

// Run runs the tests and returns the exit code.
func (p patient) Run() int {
	code := p.TestingM.Run()
	if code == 0 {
		wait(p.options)
	}
	return code
}

// wait returns when no goroutine is left, or after waitTimeout.
func wait(options []goleak.Option) {
	for end := time.Now().Add(waitTimeout); time.Now().Before(end) && goleak.Find(options...) != nil; {
		continue // Find has waited for a moment.
	}
}
