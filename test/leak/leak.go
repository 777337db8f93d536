// Package leak looks for goroutines that the tests of a package have left behind.
//
// It is goleak with patience: goleak waits for less than half a second, in which on a busy machine not even the
// connection of an HTTP client that was closed has always ended. It is for tests only.
package leak

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine may take to end after the last test.
const patience = 30 * time.Second

// Main runs the tests of a package, as TestMain does, and fails them if goroutines are left that the options do not
// name.
func Main(m goleak.TestingM, options ...goleak.Option) {
	goleak.VerifyTestMain(patient{m, options}, options...)
}

// None fails a test that is not parallel to others if goroutines are left that the options do not name.
func None(t testing.TB, options ...goleak.Option) {
	t.Helper()
	wait(options)
	goleak.VerifyNone(t, options...)
}

// patient is tests that end once no goroutine is left.
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

// wait returns once no goroutine is left, or in vain.
func wait(options []goleak.Option) {
	for end := time.Now().Add(patience); time.Now().Before(end) && goleak.Find(options...) != nil; {
		continue // Find has waited for a moment.
	}
}
